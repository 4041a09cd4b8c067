#include "io/data/prepared_documents.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/document_part.hpp"
#include "io/data/token_source.hpp"
#include "zero/base/path.hpp"

namespace zero {
namespace {

constexpr std::string_view kEnding = ".documents", kTextEnding = ".encoded",
                           kFirstLine = "zeroapp documents 1";
constexpr const char* kAdvice = "prepare it anew: zeroapp data --prepare";
constexpr int64_t kMostList = 1 << 12;              // bytes
constexpr int64_t kMostChecked = int64_t(1) << 30;  // bytes of ids that are all checked
constexpr int64_t kBits = 64;

/// The members of a list by their keys, in the order of the file.
std::vector<std::pair<std::string_view, int64_t PreparedList::*>> counts_of_list() {
  return {{"parts", &PreparedList::parts},   {"documents", &PreparedList::documents},
          {"tokens", &PreparedList::tokens}, {"vocabulary", &PreparedList::vocabulary},
          {"empty", &PreparedList::empty},   {"merged", &PreparedList::merged},
          {"end", &PreparedList::end},       {"special_tokens", &PreparedList::special_tokens}};
}

std::string without_slash(const std::string& path) {
  return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

uint64_t hash_of(std::span<const std::byte> bytes) { return number_of(xxh3_of(bytes)); }

/// The places of a part's contents.
struct PartLayout {
  explicit PartLayout(const PartHeader& header)
      : begins(sizeof(PartHeader)),
        targets(begins + 8 * (int64_t(header.documents) + 1)),
        ids(targets + 4 * int64_t(header.documents)),
        bits(ids + int64_t(header.id_bytes * header.tokens)),
        digests(bits + 8 * ((int64_t(header.tokens) + kBits - 1) / kBits)),
        end(digests + 8 * blocks()) {}

  int64_t blocks() const { return (digests - ids + kDigestBytes - 1) / kDigestBytes; }

  int64_t begins, targets, ids, bits, digests, end;
};

/// A part of a set, open.
class Part {
 public:
  explicit Part(const std::string& path)
      : file_(path, kAdvice), header_(read_header(file_)), layout_(header_) {
    if (file_.bytes() != layout_.end) {
      file_.damaged(file_.bytes(), "the header wants ", layout_.end, " bytes; ", kAdvice);
    }
  }

  const PartHeader& header() const { return header_; }
  const DataFile& file() const { return file_; }

  /// Adds the places of documents behind `first`, and their targets.
  void add_index(int64_t first, std::vector<int64_t>& begins, std::vector<int32_t>& targets) const {
    std::vector<uint8_t> bytes(size_t(layout_.ids - layout_.begins));
    file_.read(layout_.begins, bytes);
    if (hash_of(std::as_bytes(std::span(bytes))) != header_.index_digest)
      file_.damaged(layout_.begins, "the places of documents are damaged; ", kAdvice);
    int64_t before = 0;
    for (uint64_t i = 0; i <= header_.documents; ++i) {
      int64_t begin = 0;
      memcpy(&begin, bytes.data() + 8 * i, 8);
      if (begin < before || begin > int64_t(header_.tokens) || (i == 0 && begin != 0))
        file_.damaged(layout_.begins + 8 * int64_t(i), "document ", i, " begins at ", begin);
      if (i > 0) begins.push_back(first + begin);
      before = begin;
    }
    const size_t old = targets.size();
    targets.resize(old + header_.documents);
    memcpy(targets.data() + old, bytes.data() + 8 * (header_.documents + 1), 4 * header_.documents);
  }

  void read(int64_t first, std::span<int32_t> out) const {
    constexpr int64_t kPiece = 1 << 12;  // ids of one read, on the stack
    std::array<uint8_t, kPiece * 4> raw;
    const int64_t bytes = int64_t(header_.id_bytes);
    for (int64_t done = 0; done < int64_t(out.size()); done += kPiece) {
      const int64_t now = std::min(kPiece, int64_t(out.size()) - done);
      file_.read(layout_.ids + (first + done) * bytes, std::span(raw).first(size_t(now * bytes)));
      for (int64_t i = 0; i < now; ++i) {
        uint32_t id = 0;
        memcpy(&id, raw.data() + i * bytes, size_t(bytes));
        if (id >= header_.vocabulary)
          file_.damaged(layout_.ids + (first + done + i) * bytes, "token ", id, " is beyond ",
                        header_.vocabulary, "; ", kAdvice);
        out[size_t(done + i)] = int32_t(id);
      }
    }
  }

  /// Calls `visit(place, word, bits)` for each word of bits from `first` on, shifted so that its
  /// lowest bit is that of the token at `place`.
  template <class Visit>
  void visit_bits(int64_t first, int64_t count, const Visit& visit) const {
    constexpr int64_t kPiece = 256;
    std::array<uint64_t, kPiece> words;
    for (int64_t at = first, end = first + count; at < end;) {
      const int64_t word = at / kBits, last = (end - 1) / kBits;
      const int64_t now = std::min(kPiece, last - word + 1);
      file_.read(layout_.bits + 8 * word,
                 {reinterpret_cast<uint8_t*>(words.data()), size_t(8 * now)});
      for (int64_t i = 0; i < now; ++i) {
        const int64_t bits = std::min((word + i + 1) * kBits, end) - at;
        visit(at, words[size_t(i)] >> (at % kBits), bits);
        at += bits;
      }
    }
  }

  /// Checks the blocks of ids and bits that `chosen` names.
  template <class Chosen>
  void check(const Chosen& chosen) const {
    std::vector<uint64_t> digests(size_t(layout_.blocks()));
    file_.read(layout_.digests,
               {reinterpret_cast<uint8_t*>(digests.data()), digests.size() * sizeof(uint64_t)});
    if (hash_of(std::as_bytes(std::span(digests))) != header_.block_digest)
      file_.damaged(layout_.digests, "the digests are damaged; ", kAdvice);
    std::vector<uint8_t> room;
    for (int64_t block = 0; block < layout_.blocks(); ++block) {
      if (!chosen(block)) continue;
      const int64_t begin = layout_.ids + block * kDigestBytes;
      room.resize(size_t(std::min(kDigestBytes, layout_.digests - begin)));
      file_.read(begin, room);
      if (hash_of(std::as_bytes(std::span(room))) != digests[size_t(block)])
        file_.damaged(begin, "the ", room.size(), " bytes from here are damaged; ", kAdvice);
    }
  }

 private:
  static PartHeader read_header(const DataFile& file) {
    PartHeader header;
    if (file.bytes() < int64_t(sizeof header)) file.damaged(file.bytes(), "is cut off; ", kAdvice);
    header = file.number<PartHeader>(0);
    const uint64_t most = uint64_t(file.bytes());
    const bool is_whole = header.magic == kPartMagic && header.version == 1 &&
                          header.header_digest == digest_of(header);
    if (!is_whole || header.documents > most || header.tokens > most ||
        (header.id_bytes != 2 && header.id_bytes != 4)) {
      file.damaged(0, "is no part of a prepared set, or damaged; ", kAdvice);
    }
    return header;
  }

  DataFile file_;
  PartHeader header_;
  PartLayout layout_;
};

/// Documents that stay in the files of a prepared set.
class PreparedDocuments : public DocumentSource {
 public:
  PreparedDocuments(const std::string& folder, PreparedList list) : folder_(folder), list_(list) {
    uint64_t digest = 0;
    for (int64_t i = 0; i < list.parts; ++i) {
      parts_.push_back(std::make_unique<Part>(prepared_part(folder, i)));
      if (parts_.back()->header().vocabulary > uint64_t(list.vocabulary)) {
        refuse(Exit::kInput, prepared_part(folder, i), ": has ids of another vocabulary than ",
               prepared_list(folder), "; ", kAdvice, ' ', folder);
      }
      firsts_.push_back(begins_.back());
      parts_.back()->add_index(begins_.back(), begins_, targets_);
      digest = (digest * 0x9E3779B97F4A7C15u) ^ parts_.back()->header().header_digest;
    }
    if (digest == list.digest && int64_t(targets_.size()) == list.documents) return;
    refuse(Exit::kInput, prepared_list(folder), ": is the list of other parts; ", kAdvice, ' ',
           folder);
  }

  int64_t add(int64_t first, int64_t) override { return first; }
  int64_t begin(int64_t row) const override { return begins_[size_t(row)]; }
  int64_t targets(int64_t row, int64_t count) const override {
    return count == length(row) ? targets_[size_t(row)] : DocumentSource::targets(row, count);
  }
  void read(int64_t first, std::span<int32_t> out) const override {
    visit(first, int64_t(out.size()), [&](const Part& part, int64_t at, int64_t done, int64_t now) {
      part.read(at, out.subspan(size_t(done), size_t(now)));
    });
  }
  void read_targets(int64_t first, std::span<int32_t> out) const override {
    read(first, out);
    visit(first, int64_t(out.size()), [&](const Part& part, int64_t at, int64_t done, int64_t now) {
      part.visit_bits(at, now, [&](int64_t place, uint64_t word, int64_t bits) {
        for (int64_t i = 0; i < bits; ++i)
          if ((word >> i & 1) == 0) out[size_t(done + place - at + i)] = -1;
      });
    });
  }
  int64_t learnt(int64_t first, int64_t count) const override {
    int64_t set = 0;
    visit(first, count, [&](const Part& part, int64_t at, int64_t, int64_t now) {
      part.visit_bits(at, now, [&](int64_t, uint64_t word, int64_t bits) {
        set += std::popcount(bits == kBits ? word : word & ((uint64_t(1) << bits) - 1));
      });
    });
    return set;
  }
  std::string place(int64_t row) const override { return text(folder_, ": document ", row + 1); }
  Counts counts() const override { return {}; }
  std::string format() const override { return text("prepared set of ", list_.tokens, " tokens"); }
  int64_t items() const override { return list_.documents; }
  int64_t vocab_size() const override { return list_.vocabulary; }
  uint64_t fingerprint() const override {
    const int64_t bytes = list_.tokens * (list_.vocabulary > 65536 ? 4 : 2);
    const int64_t step = 1 + bytes / kMostChecked;
    // Larger sets have each step-th block checked, and other ones in each part.
    for (size_t i = 0; i < parts_.size(); ++i)
      parts_[i]->check([&](int64_t block) { return (block + int64_t(i)) % step == 0; });
    return list_.digest;
  }

 private:
  /// Calls `call(part, first token in it, tokens before, tokens)` for the parts that hold a
  /// stretch.
  template <class Call>
  void visit(int64_t first, int64_t count, const Call& call) const {
    for (int64_t done = 0; done < count;) {
      const auto behind = std::ranges::upper_bound(firsts_, first + done);
      const size_t part = size_t(behind - firsts_.begin()) - 1;
      const int64_t end = behind == firsts_.end() ? begins_.back() : *behind;
      const int64_t now = std::min(count - done, end - first - done);
      ZERO_REQUIRE(now > 0, "tokens ", first, " to ", first + count, " of ", begins_.back());
      call(*parts_[part], first + done - firsts_[part], done, now);
      done += now;
    }
  }

  std::string folder_;
  PreparedList list_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<int64_t> firsts_;        ///< [parts] first token
  std::vector<int64_t> begins_ = {0};  ///< [documents + 1]
  std::vector<int32_t> targets_;       ///< [documents]
};

/// The stretches of a text in a prepared set, as its tokens in a row.
class PreparedTokens : public TokenSource {
 public:
  PreparedTokens(const std::string& folder, const PreparedList& list)
      : tokens_(list.tokens), stretches_(folder, list) {}

  int64_t tokens() const override { return tokens_; }
  int64_t vocab_size() const override { return stretches_.vocab_size(); }
  std::string format() const override { return stretches_.format(); }
  void read(int64_t first, std::span<int32_t> out) const override { stretches_.read(first, out); }
  uint64_t fingerprint() const override { return stretches_.fingerprint(); }

 private:
  int64_t tokens_;
  PreparedDocuments stretches_;
};

void require_vocabulary(const std::string& folder, const PreparedList& list, int64_t vocab_size) {
  if (list.vocabulary <= vocab_size) return;
  refuse(Exit::kInput, folder, ": has a vocabulary of ", list.vocabulary, ", the model one of ",
         vocab_size, "; write model.vocab_size = ", list.vocabulary, " or more");
}

void require_tokenizer(const std::string& folder, const PreparedList& list,
                       const Tokenizer& tokenizer) {
  if (list.tokenizer == 0 || list.tokenizer == tokenizer.fingerprint()) return;
  refuse_settings({"data.tokenizer", "data.train"}, folder,
                  " was prepared by another tokenizer; write that one, or prepare it anew");
}

template <class Number>
bool read_number(std::string_view word, Number& number, int base) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::optional<PartHeader> whole_part(const std::string& path) {
  try {
    return Part(path).header();
  } catch (const Error& error) {
    if (error.exit() != Exit::kInput) throw;
    return std::nullopt;
  }
}

bool names_prepared(const std::string& path) { return without_slash(path).ends_with(kEnding); }

bool names_prepared_text(const std::string& path) {
  return without_slash(path).ends_with(kTextEnding);
}

std::string prepared_list(const std::string& folder) { return without_slash(folder) + "/list"; }

std::string prepared_part(const std::string& folder, int64_t part) {
  return without_slash(folder) + format("/%05lld", (long long)part);
}

uint64_t digest_of(const PartHeader& header) {
  PartHeader others = header;
  others.header_digest = 0;
  return hash_of(std::as_bytes(std::span(&others, 1)));
}

void PreparedList::add(const PartHeader& part) {
  documents += int64_t(part.documents);
  tokens += int64_t(part.tokens);
  vocabulary = std::max(vocabulary, int64_t(part.vocabulary));
  empty += int64_t(part.empty);
  merged += int64_t(part.merged);
  digest = (digest * 0x9E3779B97F4A7C15u) ^ part.header_digest;
}

std::string to_text(const PreparedList& list) {
  std::string lines = text(kFirstLine, '\n');
  for (const auto& [key, member] : counts_of_list()) lines += text(key, ' ', list.*member, '\n');
  return lines + format("tokenizer %016llx\ndigest %016llx\n", (unsigned long long)list.tokenizer,
                        (unsigned long long)list.digest);
}

PreparedList read_prepared_list(const std::string& folder) {
  const std::string path = prepared_list(folder);
  if (!is_there(path)) {
    refuse(Exit::kInput, folder,
           ": is no whole prepared set, as it has no list; make it, or go on ",
           "where that ended: zeroapp data INPUT --prepare ", folder);
  }
  const std::string content = read_whole(path, kMostList);
  std::map<std::string, std::string> values;
  std::string_view rest = content;
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const size_t blank = line.find(' ');
    if (!is_first && blank != line.npos)
      values.emplace(line.substr(0, blank), line.substr(blank + 1));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  PreparedList list;
  bool is_whole = content.starts_with(kFirstLine);
  for (const auto& [key, member] : counts_of_list())
    is_whole &= read_number(values[std::string(key)], list.*member, 10);
  is_whole &= read_number(values["tokenizer"], list.tokenizer, 16) &&
              read_number(values["digest"], list.digest, 16);
  if (is_whole && list.parts >= 1 && list.parts < 100'000) return list;
  refuse(Exit::kInput, path, ": is no list of a prepared set; ", kAdvice, ' ', folder);
}

std::unique_ptr<DocumentSource> open_prepared_documents(const std::string& folder,
                                                        const DocumentRules& rules,
                                                        const Tokenizer& tokenizer) {
  const PreparedList list = read_prepared_list(folder);
  require_vocabulary(folder, list, rules.vocab_size);
  require_tokenizer(folder, list, tokenizer);
  if (list.tokenizer != 0 &&
      (list.end != rules.end || (list.special_tokens != 0) != rules.special_tokens)) {
    refuse_settings({"data.eos_id", "data.special_tokens", "data.train"}, folder,
                    " was prepared with data.eos_id = ", list.end,
                    " and data.special_tokens = ", list.special_tokens != 0 ? "true" : "false",
                    "; write these, or prepare it anew");
  }
  return std::make_unique<PreparedDocuments>(without_slash(folder), list);
}

std::unique_ptr<TokenSource> open_prepared_text(const std::string& folder,
                                                const Tokenizer& tokenizer, int64_t vocab_size) {
  const PreparedList list = read_prepared_list(folder);
  require_tokenizer(folder, list, tokenizer);
  require_vocabulary(folder, list, vocab_size);
  return std::make_unique<PreparedTokens>(without_slash(folder), list);
}

}  // namespace zero
