#include "src/launch/hang_notes.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "zero/base/error.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::launch {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The interval of looks at the folder, which may be far away.
constexpr milliseconds kGlance(200);
/// Bytes, for a node of hundreds of ranks.
constexpr int64_t kNoteBytesMax = int64_t(1) << 20;

Json json_of(const Word& word) {
  Json json = {{"rank", word.rank},   {"silent_seconds", word.silent_seconds},
               {"works", word.works}, {"died", word.died},
               {"step", word.step},   {"last_op", word.last_op}};
  if (word.moved_seconds) json["moved_seconds"] = *word.moved_seconds;
  return json;
}

Word word_of(const Json& json, const std::string& host) {
  Word word = {.rank = json.at("rank"),
               .silent_seconds = json.at("silent_seconds"),
               .works = json.at("works"),
               .died = json.at("died"),
               .step = json.at("step"),
               .last_op = json.at("last_op"),
               .host = host};
  if (json.contains("moved_seconds")) word.moved_seconds = json["moved_seconds"].get<double>();
  return word;
}

Json json_of(const LostLink& link) {
  return {{"to", link.to}, {"address", link.address}, {"interface", link.interface}};
}

LostLink link_of(const Json& json, const std::string& host) {
  return {.from = host,
          .to = json.at("to"),
          .address = json.at("address"),
          .interface = json.at("interface")};
}

}  // namespace

HangNotes::HangNotes(const std::string& folder, Placement placement)
    : folder_(folder + "/hangs"), placement_(std::move(placement)) {
  for (const std::string& host : placement_.hosts) {
    if (std::ranges::find(nodes_, host) == nodes_.end()) nodes_.push_back(host);
  }
}

bool HangNotes::any() const {
  // Most launches have no such folder, and nothing is allocated beside their steps.
  if (access(folder_.c_str(), F_OK) != 0) return false;
  const std::vector<std::string> there = names();
  return std::ranges::any_of(nodes_,
                             [&](const auto& node) { return note_of(node, there).has_value(); });
}

/// Returns the names in the folder. Opens it anew, because a file system over a network may
/// remember for long that a name was not there.
std::vector<std::string> HangNotes::names() const {
  std::vector<std::string> found;
  std::error_code none;
  std::filesystem::directory_iterator entry(folder_, none);
  for (; !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    found.push_back(entry->path().filename());
  }
  return found;
}

void HangNotes::leave(std::span<const Word> words, std::span<const LostLink> links) const {
  if (words.empty()) return;
  Json ranks = Json::array();
  for (const Word& word : words) ranks.push_back(json_of(word));
  Json lost = Json::array();
  for (const LostLink& link : links) lost.push_back(json_of(link));
  const Json note = {{"launch", placement_.launch}, {"ranks", ranks}, {"lost_links", lost}};
  const std::string& host = placement_.hosts.at(size_t(words[0].rank));
  std::error_code none;
  std::filesystem::create_directories(folder_, none);
  try {
    replace_own(folder_ + "/" + host + ".json",
                note.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const Error& error) {
    warn("the note on a hang could not be written: ", error.what());
  }
}

std::optional<HangNotes::Note> HangNotes::note_of(const std::string& host,
                                                  std::span<const std::string> there) const try {
  const std::string name = host + ".json";
  if (std::ranges::find(there, name) == there.end()) return {};
  const Json note = Json::parse(own_text(folder_ + "/" + name, kNoteBytesMax).value_or("{}"));
  if (note.value("launch", "") != placement_.launch) return {};
  Note found;
  for (const Json& word : note.at("ranks")) found.words.push_back(word_of(word, host));
  for (const Json& link : note.at("lost_links")) found.links.push_back(link_of(link, host));
  return found;
} catch (const std::exception&) {
  return {};  // damaged, or of another program
}

Hang HangNotes::cause(double patience_seconds) const {
  const Clock::time_point end = Clock::now() + kPatience;
  std::vector<Word> words;
  Silence silence{.nodes = nodes_};
  for (;;) {
    const std::vector<std::string> there = names();
    std::erase_if(silence.nodes, [&](const std::string& node) {
      const auto found = note_of(node, there);
      if (!found) return false;
      words.insert(words.end(), found->words.begin(), found->words.end());
      silence.links.insert(silence.links.end(), found->links.begin(), found->links.end());
      return true;
    });
    if (silence.nodes.empty() || Clock::now() > end) break;
    std::this_thread::sleep_for(kGlance);
  }
  std::ranges::sort(words, {}, &Word::rank);
  return {.what = describe_hang(words, patience_seconds, silence),
          .blamed = blamed_node(words, patience_seconds, silence),
          .is_cut = !silence.nodes.empty() || !silence.links.empty()};
}

}  // namespace zero::launch
