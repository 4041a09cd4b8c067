#include "zero/io/data/prepare.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/data_paths.hpp"
#include "io/data/prepared_documents.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/lock_file.hpp"
#include "zero/io/files/output_file.hpp"

namespace zero {
namespace {

constexpr int64_t kMostDocuments = 1 << 16;        // of a part
constexpr int64_t kPartBytes = int64_t(64) << 20;  // of a part's texts, about
constexpr int64_t kMostParts = 400;                // of a file, each an open file of a run

/// Documents of a file that make a part.
struct Stretch {
  std::shared_ptr<const DocumentFile> file;
  int64_t first = 0, count = 0;
};

int64_t bytes_of_file(const std::string& path) { return InputFile(path).bytes(); }

/// Cuts a file in stretches of some size of text.
void add_stretches(const std::string& path, const std::shared_ptr<const DocumentFile>& file,
                   std::vector<Stretch>& all) {
  const int64_t documents = file->documents();
  const int64_t mean = std::max<int64_t>(bytes_of_file(path) / documents, 1);
  const int64_t by_bytes = std::clamp<int64_t>(kPartBytes / mean, 1, kMostDocuments);
  const int64_t count = std::max(by_bytes, documents / kMostParts + 1);
  for (int64_t first = 0; first < documents; first += count)
    all.push_back({file, first, std::min(count, documents - first)});
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

uint64_t hash_of(std::span<const std::byte> bytes) { return number_of(xxh3_of(bytes)); }

/// Returns ids and bits as a part holds them.
std::vector<std::byte> body_of(const DocumentSource& source, int64_t tokens, int64_t id_bytes) {
  constexpr int64_t kBits = 64;
  std::vector<int32_t> ids(static_cast<size_t>(tokens)), targets(static_cast<size_t>(tokens));
  source.read(0, ids);
  source.read_targets(0, targets);
  std::vector<uint64_t> bits(size_t((tokens + kBits - 1) / kBits));
  std::vector<std::byte> body(size_t(tokens * id_bytes) + bits.size() * sizeof(uint64_t));
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t id = uint32_t(ids[i]);
    memcpy(body.data() + i * size_t(id_bytes), &id, size_t(id_bytes));
    bits[i / kBits] |= uint64_t(targets[i] >= 0) << (i % kBits);
  }
  const auto raw = bytes_of(bits);
  std::ranges::copy(raw, body.end() - ptrdiff_t(raw.size()));
  return body;
}

/// Writes the documents of a source as a part. Returns its header.
PartHeader write_part(const std::string& path, const DocumentSource& source, int64_t documents,
                      uint64_t rules, int64_t vocab_size) {
  const int64_t tokens = source.begin(documents);
  const DocumentSource::Counts counts = source.counts();
  PartHeader header{.magic = kPartMagic,
                    .version = 1,
                    .rules = rules,
                    .id_bytes = vocab_size > 65536 ? 4u : 2u,
                    .documents = uint64_t(documents),
                    .tokens = uint64_t(tokens),
                    .vocabulary = uint64_t(source.vocab_size()),
                    .empty = uint64_t(counts.empty),
                    .merged = uint64_t(counts.merged)};
  std::vector<std::byte> index(size_t(8 * (documents + 1) + 4 * documents));
  for (int64_t i = 0; i <= documents; ++i) {
    const int64_t begin = source.begin(i);
    memcpy(index.data() + 8 * i, &begin, 8);
    if (i == documents) break;
    const int32_t targets = int32_t(source.targets(i, source.length(i)));
    memcpy(index.data() + 8 * (documents + 1) + 4 * i, &targets, 4);
  }
  const std::vector<std::byte> body = body_of(source, tokens, int64_t(header.id_bytes));
  std::vector<uint64_t> digests;
  for (size_t at = 0; at < body.size(); at += size_t(kDigestBytes))
    digests.push_back(
        hash_of(std::span(body).subspan(at, std::min(size_t(kDigestBytes), body.size() - at))));
  header.index_digest = hash_of(index);
  header.block_digest = hash_of(bytes_of(digests));
  header.header_digest = digest_of(header);
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(index);
  file.write(body);
  file.write(bytes_of(digests));
  file.publish();
  return header;
}

/// A folder in which a set is made.
class Preparer {
 public:
  Preparer(const DataOptions& options, const std::string& folder)
      : folder_(folder),
        tokenizer_(open_tokenizer(options.data.tokenizer)),
        rules_(document_rules(options, *tokenizer_)) {
    take_folder();
    bool has_texts = false;
    for (const DataPath& path : data_paths(options.data)) {
      require_records(path);
      const std::shared_ptr<const DocumentFile> file = open_document_file(path.path, rules_.fields);
      has_texts |= file->form() != DocumentForm::ids;
      add_stretches(path.path, file, stretches_);
    }
    headers_.resize(stretches_.size());
    if (has_texts) list_.tokenizer = tokenizer_->fingerprint();
  }

  Preparation run(int threads) {
    encode(threads);
    write_list();
    Preparation done{.documents = list_.documents,
                     .tokens = list_.tokens,
                     .parts = list_.parts,
                     .kept = kept_,
                     .empty = list_.empty,
                     .merged = list_.merged};
    return done;
  }

 private:
  static void require_records(const DataPath& path) {
    if (path.weight > 0) {
      refuse(Exit::kUsage, "command line: --prepare: a set has no weights; prepare each part of ",
             "data.train, and mix the sets");
    }
    if (!names_prepared(path.path)) return;
    refuse(Exit::kUsage, "command line: --prepare: ", path.path, " is a prepared set already");
  }
  void take_folder() {
    if (!names_prepared(folder_)) {
      refuse(Exit::kUsage, "command line: --prepare: ", folder_, ": the name of a set ends in ",
             ".documents, by which data.train knows it; write ", folder_, ".documents");
    }
    if (is_taken(prepared_list(folder_))) {
      refuse(Exit::kUsage, "command line: --prepare: ", folder_, ": is a whole set; remove it, or ",
             "write another name");
    }
    if (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)
      refuse(Exit::kIo, folder_, ": could not be made: ", path_advice(errno));
    lock_ = LockFile(folder_ + "/LOCK", {.what = folder_, .remedy = "write another name"});
  }

  uint64_t rules_of_stretch(const Stretch& stretch, const DocumentSource& source) const {
    const std::string said = text(source.fingerprint(), ' ', stretch.first, ' ', stretch.count, ' ',
                                  rules_.vocab_size > 65536);
    return hash_of(std::as_bytes(std::span(said)));
  }

  /// Makes a part, or keeps the one that is there.
  void make(size_t number) {
    const Stretch& stretch = stretches_[number];
    const std::string path = prepared_part(folder_, int64_t(number));
    const auto source = encoded_documents(stretch.file, rules_, tokenizer_);
    const uint64_t rules = rules_of_stretch(stretch, *source);
    if (is_there(path)) {
      const DataFile file(path, "remove it");
      if (file.bytes() >= int64_t(sizeof(PartHeader)))
        headers_[number] = file.number<PartHeader>(0);
      if (headers_[number].rules == rules &&
          headers_[number].header_digest == digest_of(headers_[number])) {
        ++kept_;
        return;
      }
      refuse(Exit::kInput, path, ": is of other data or rules than these; remove ", folder_,
             ", or write another name");
    }
    for (const std::string& left : left_files(path)) std::filesystem::remove(left);
    source->add(stretch.first, stretch.count);
    headers_[number] = write_part(path, *source, stretch.count, rules, rules_.vocab_size);
  }

  void encode(int threads) {
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&] {
      for (size_t part = next++; part < stretches_.size(); part = next++) {
        try {
          make(part);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
          next = stretches_.size();
        }
      }
    };
    {
      std::vector<std::jthread> others;
      for (int i = 1; i < std::min(threads, int(stretches_.size())); ++i) others.emplace_back(work);
      work();
    }
    if (error) std::rethrow_exception(error);
  }

  void write_list() {
    list_.parts = int64_t(headers_.size());
    list_.end = rules_.end;
    list_.special_tokens = rules_.special_tokens;
    for (const PartHeader& header : headers_) {
      list_.documents += int64_t(header.documents);
      list_.tokens += int64_t(header.tokens);
      list_.vocabulary = std::max(list_.vocabulary, int64_t(header.vocabulary));
      list_.empty += int64_t(header.empty);
      list_.merged += int64_t(header.merged);
      list_.digest = (list_.digest * 0x9E3779B97F4A7C15u) ^ header.header_digest;
    }
    if (list_.tokens == 0) {
      refuse(Exit::kInput, folder_, ": the files hold no token; write documents with a text");
    }
    OutputFile file(prepared_list(folder_));
    file.write(to_text(list_));
    file.publish();
  }

  std::string folder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  DocumentRules rules_;
  LockFile lock_;
  std::vector<Stretch> stretches_;
  std::vector<PartHeader> headers_;  ///< [stretches]
  std::atomic<int64_t> kept_ = 0;
  PreparedList list_;
};

}  // namespace

Preparation prepare_documents(const DataOptions& options, const std::string& folder, int threads) {
  return Preparer(options, folder).run(threads);
}

}  // namespace zero
