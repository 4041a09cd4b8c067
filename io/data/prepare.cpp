#include "zero/io/data/prepare.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/document_part.hpp"
#include "io/data/field_file.hpp"
#include "io/data/parquet_file.hpp"
#include "io/data/prepared_documents.hpp"
#include "io/data/set_stretches.hpp"
#include "io/data/zstd_file.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/lock_file.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSource = 1 << 12;        // bytes of the file that describes the files
constexpr const char* kUnpacked = "unpacked-";  // begins the names of unpacked files
constexpr const char* kNeedsSpace = "make room, or unpack the file elsewhere";

uint64_t hash_of(std::string_view words) {
  return number_of(xxh3_of(std::as_bytes(std::span(words))));
}

std::string hex(uint64_t number) { return format("%016llx", (unsigned long long)number); }

/// Returns a number for what a file holds now, by its size, its time and some of its bytes.
uint64_t stamp_of(const std::string& path) {
  constexpr int64_t kSamples = 64, kSampleBytes = 4096;
  const InputFile file(path);
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) refuse(Exit::kInput, path, ": ", path_advice(errno));
  std::array<std::byte, kSampleBytes> room;
  Xxh3 hash;
  const int64_t step = std::max(file.bytes() / kSamples, kSampleBytes);
  for (int64_t at = 0; at < file.bytes(); at += step) {
    const auto sample = std::span(room).first(size_t(std::min(kSampleBytes, file.bytes() - at)));
    file.read(at, sample);
    hash.add(sample);
  }
  return hash_of(text(file.bytes(), ' ', status.st_mtim.tv_sec, ' ', status.st_mtim.tv_nsec, ' ',
                      number_of(hash.digest())));
}

bool is_packed(const std::string& path) { return path.ends_with(".zst"); }

}  // namespace

struct SetMaker::State {
  State(SetOrder ordered, std::shared_ptr<const Tokenizer> opened)
      : order(std::move(ordered)), tokenizer(std::move(opened)) {
    if (!tokenizer) tokenizer = open_tokenizer(order.options.data.tokenizer);
    const auto is_text = [](const RawFile& file) { return file.is_text; };
    if (!std::ranges::all_of(order.files, is_text))
      rules = document_rules(order.options, *tokenizer);
  }

  bool is_wide() const { return order.options.vocab_size > 65536; }
  std::string source_path() const { return order.folder + "/source"; }
  std::string source_text() const;
  std::string readable(const RawFile& file) const;
  void take_users_folder() const;
  void take_runs_folder() const;
  void unpack(const RawFile& file) const;
  void cut();
  int threads_of(const SetShare& share) const;
  bool make(size_t number) const;
  bool make(size_t number, int64_t lines_before) const;
  bool has_texts(const RawFile& file) const;
  std::vector<uint64_t> stamps_now() const;
  void require_unchanged() const;
  void clear(size_t parts) const;

  SetOrder order;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<DocumentRules> rules;  ///< none for texts alone
  LockFile lock;
  std::vector<uint64_t> stamps;  ///< [files] when the set was begun
  std::vector<Stretch> stretches;
  int fewer_threads = 0;  ///< than asked for, which made parts; 0: as many
};

/// Returns two lines, of the files and of the rules by which they become ids.
std::string SetMaker::State::source_text() const {
  std::string files, words = text(tokenizer->fingerprint(), ' ', is_wide());
  for (const RawFile& file : order.files)
    files += text(file.path, '\n', stamp_of(file.path), '\n', file.is_text, '\n');
  if (rules) {
    for (const std::string& field :
         {rules->fields.text, rules->fields.prompt, rules->fields.completion}) {
      words += text('\n', field.size(), ' ', field);
    }
    words += text('\n', rules->end, ' ', rules->special_tokens);
  }
  return text("files ", hex(hash_of(files)), "\nrules ", hex(hash_of(words)), '\n');
}

/// Returns the path of a file, or of what it was unpacked to.
std::string SetMaker::State::readable(const RawFile& file) const {
  if (!is_packed(file.path)) return file.path;
  return text(order.folder, '/', kUnpacked,
              hex(hash_of(text(file.path, ' ', stamp_of(file.path)))));
}

void SetMaker::State::take_users_folder() const {
  const std::string& folder = order.folder;
  if (!names_prepared(folder)) {
    refuse(Exit::kUsage, "command line: --prepare: ", folder, ": the name of a set ends in ",
           ".documents, by which data.train knows it; write ", folder, ".documents");
  }
  if (is_taken(prepared_list(folder))) {
    refuse(Exit::kUsage, "command line: --prepare: ", folder, ": is a whole set; remove it, or ",
           "write another name");
  }
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    refuse(Exit::kIo, folder, ": could not be made: ", path_advice(errno));
}

void SetMaker::State::take_runs_folder() const {
  std::error_code error;
  fs::create_directories(order.folder, error);
  if (error) {
    refuse(Exit::kIo, "run.output: ", order.folder,
           ": could not be made: ", path_advice(error.value()));
  }
}

/// A file that another process wrote to meanwhile has another stamp, and so another name.
void SetMaker::State::unpack(const RawFile& file) const {
  const std::string path = readable(file);
  if (is_there(path)) return;
  for (const std::string& left : left_files(path)) fs::remove(left);
  OutputFile out(path);
  int64_t bytes = 0;
  try {
    unpack_zstd(InputFile(file.path), [&](std::span<const std::byte> piece) {
      out.write(piece);
      bytes += int64_t(piece.size());
    });
  } catch (const Error& error) {
    if (error.exit() != Exit::kIo) throw;
    refuse(Exit::kIo, error.what(), "; ", kNeedsSpace);
  }
  if (bytes == 0) refuse(Exit::kInput, file.path, ": holds nothing; ", kDocumentFileAdvice);
  out.publish();
}

/// Cuts the files. Parts of all of them have one size.
void SetMaker::State::cut() {
  std::vector<std::string> paths;
  int64_t bytes = 0;
  for (const RawFile& file : order.files) {
    paths.push_back(readable(file));
    bytes += content_bytes(paths.back());
  }
  const int64_t part = std::max(order.part_bytes, bytes / order.most_parts + 1);
  stretches.clear();
  for (size_t i = 0; i < paths.size(); ++i)
    add_stretches(order.files[i], paths[i], {rules ? &*rules : nullptr, tokenizer}, part,
                  stretches);
}

/// Returns how many threads make parts at once. Each holds the text of one.
int SetMaker::State::threads_of(const SetShare& share) const {
  int64_t largest = 1;
  for (const Stretch& stretch : stretches) largest = std::max(largest, stretch.bytes);
  return int(std::clamp<int64_t>(share.most_bytes / largest, 1, std::max(share.threads, 1)));
}

/// Makes a part. Returns true if it was there. Counts the lines in front of the stretch only if one
/// of its own is damaged.
bool SetMaker::State::make(size_t number) const {
  const Stretch& stretch = stretches[number];
  try {
    return make(number, 0);
  } catch (const Error& error) {
    if (error.exit() != Exit::kInput || stretch.unit != Stretch::Unit::lines || stretch.begin == 0)
      throw;
    make(number, lines_before(stretch.path, stretch.begin - 1) + 1);
    throw;
  }
}

bool SetMaker::State::make(size_t number, int64_t lines_before) const {
  const Stretch& stretch = stretches[number];
  const std::string path = prepared_part(order.folder, int64_t(number));
  const auto source = open_stretch(stretch, {rules ? &*rules : nullptr, tokenizer}, lines_before);
  const int64_t first = stretch.table ? stretch.begin : 0;
  const int64_t count = stretch.table ? stretch.end - stretch.begin : source->items();
  const std::string place = stretch.table ? text(' ', first, ' ', count) : "";
  const uint64_t content = hash_of(text(source->fingerprint(), place, ' ', is_wide()));
  if (is_there(path)) {
    const std::optional<PartHeader> header = whole_part(path);
    if (header && header->rules == content) return true;
    if (!order.is_of_run) {
      refuse(Exit::kInput, path, ": is of other data or rules than these; remove ", order.folder,
             ", or write another name");
    }
    fs::remove(path);
  }
  for (const std::string& left : left_files(path)) fs::remove(left);
  source->add(first, count);
  write_part(path, {.documents = *source,
                    .count = count,
                    .rules = content,
                    .vocab_size = order.options.vocab_size});
  return false;
}

bool SetMaker::State::has_texts(const RawFile& file) const {
  if (names_parquet(file.path)) {
    const auto none = open_parquet_documents(file.path, rules->fields, {.begin = 0, .end = 0});
    return none->form() != DocumentForm::ids;
  }
  if (file.is_text || !names_json(file.path)) return true;
  const LineRange head{.begin = 0, .end = 1, .name = file.path};
  const auto first = open_document_lines(readable(file), rules->fields, head);
  return first->form() != DocumentForm::ids;
}

std::vector<uint64_t> SetMaker::State::stamps_now() const {
  std::vector<uint64_t> all;
  for (const RawFile& file : order.files) all.push_back(stamp_of(file.path));
  return all;
}

/// Some parts may be of the file before a change, and some of that after it.
void SetMaker::State::require_unchanged() const {
  const std::vector<uint64_t> now = stamps_now();
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] == stamps[i]) continue;
    refuse(Exit::kInput, order.files[i].path, ": was written to meanwhile; start again");
  }
}

/// Removes unpacked files, and parts of an earlier set that had more. Other files are a user's.
void SetMaker::State::clear(size_t parts) const {
  constexpr const char *kDigits = "0123456789", *kHex = "0123456789abcdef";
  const auto is_of = [](std::string_view name, size_t letters, const char* alphabet) {
    return name.size() == letters && name.find_first_not_of(alphabet) == name.npos;
  };
  std::vector<fs::path> vain;
  for (const fs::directory_entry& entry : fs::directory_iterator(order.folder)) {
    const std::string path = entry.path().string(), name = entry.path().filename().string();
    if (!entry.is_regular_file()) continue;
    const bool is_unpacked =
        name.starts_with(kUnpacked) && is_of(name.substr(strlen(kUnpacked)), 16, kHex);
    const bool is_beyond = is_of(name, 5, kDigits) && std::stoull(name) >= parts;
    if (is_unpacked || (is_beyond && whole_part(path))) vain.push_back(entry.path());
  }
  for (const fs::path& path : vain) fs::remove(path);
}

SetMaker::SetMaker(SetOrder order, std::shared_ptr<const Tokenizer> tokenizer)
    : state_(std::make_unique<State>(std::move(order), std::move(tokenizer))) {}
SetMaker::~SetMaker() = default;

SetState SetMaker::state() const {
  const std::string& folder = state_->order.folder;
  if (!is_there(prepared_list(folder)) || !is_there(state_->source_path()))
    return SetState::missing;
  const std::string then = read_whole(state_->source_path(), kMostSource);
  const std::string now = state_->source_text();
  if (then == now) return SetState::whole;
  const auto rules = [](const std::string& text) { return text.substr(text.find("rules ")); };
  const bool is_text = then.find("rules ") != then.npos;
  return is_text && rules(then) == rules(now) ? SetState::of_other_files : SetState::of_other_rules;
}

void SetMaker::begin() {
  const SetOrder& order = state_->order;
  if (order.is_of_run)
    state_->take_runs_folder();
  else
    state_->take_users_folder();
  state_->lock =
      LockFile(order.folder + "/LOCK",
               {.what = order.folder,
                .remedy = order.is_of_run ? "write another run.output" : "write another name"});
  state_->stamps = state_->stamps_now();
  if (!order.is_of_run) return;
  // Without its list a set is not whole, until the parts are those of these files and rules.
  fs::remove(prepared_list(order.folder));
  replace_own(state_->source_path(), state_->source_text());
}

void SetMaker::unpack(const SetShare& share) {
  int number = 0;
  for (const RawFile& file : state_->order.files) {
    if (!is_packed(file.path) || number++ % share.ranks != share.rank) continue;
    if (!share.is_over || !share.is_over()) state_->unpack(file);
  }
}

int64_t SetMaker::make(const SetShare& share) {
  state_->cut();
  const size_t parts = state_->stretches.size();
  const int threads = state_->threads_of(share);
  state_->fewer_threads = threads < share.threads ? threads : 0;
  std::atomic<size_t> next = size_t(share.rank);
  std::atomic<int64_t> kept = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    while (!share.is_over || !share.is_over()) {
      const size_t part = next.fetch_add(size_t(share.ranks));
      if (part >= parts) return;
      try {
        kept += state_->make(part);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = parts;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min(threads, int(parts)); ++i) others.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
  return kept;
}

Preparation SetMaker::finish() {
  const std::string& folder = state_->order.folder;
  state_->require_unchanged();
  PreparedList list{.parts = int64_t(state_->stretches.size())};
  if (state_->rules) {
    list.end = state_->rules->end;
    list.special_tokens = state_->rules->special_tokens;
  }
  if (std::ranges::any_of(state_->order.files,
                          [&](const RawFile& file) { return state_->has_texts(file); })) {
    list.tokenizer = state_->tokenizer->fingerprint();
  }
  for (int64_t part = 0; part < list.parts; ++part) {
    const std::string path = prepared_part(folder, part);
    const std::optional<PartHeader> header = whole_part(path);
    if (!header) refuse(Exit::kInput, path, ": was changed or removed meanwhile; start again");
    list.add(*header);
  }
  if (list.tokens == 0) {
    refuse(Exit::kInput, folder, ": the files hold no token; write documents with a text");
  }
  if (state_->order.is_of_run) state_->clear(state_->stretches.size());
  OutputFile file(prepared_list(folder));
  file.write(to_text(list));
  file.publish();
  if (!state_->order.is_of_run) state_->clear(state_->stretches.size());
  return {.documents = list.documents,
          .tokens = list.tokens,
          .parts = list.parts,
          .empty = list.empty,
          .merged = list.merged,
          .fewer_threads = state_->fewer_threads};
}

Preparation prepare_documents(const DataOptions& options, const std::string& folder, int threads,
                              int64_t part_bytes) {
  SetMaker maker({.options = options,
                  .folder = folder,
                  .files = files_of_set(options),
                  .part_bytes = part_bytes});
  const SetShare all{.threads = threads};
  maker.begin();
  maker.unpack(all);
  const int64_t kept = maker.make(all);
  Preparation done = maker.finish();
  done.kept = kept;
  return done;
}

}  // namespace zero
