#include "zero/text/shared_texts.hpp"

#include <atomic>
#include <cstring>
#include <exception>
#include <string>

#include "src/text/row_decoder.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/sign_of_life.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::writing {
namespace {

/// Maximum bytes shared between ranks.
constexpr int64_t kMostShared = int64_t(1) << 30;

/// Returns lengths and tokens, one text after the other.
std::string to_bytes(std::span<const TokenList> texts) {
  std::string bytes;
  const auto add = [&](const int32_t* first, size_t count) {
    bytes.append(reinterpret_cast<const char*>(first), count * sizeof(int32_t));
  };
  for (const TokenList& text : texts) {
    const int32_t length = int32_t(text.size());
    add(&length, 1);
    add(text.data(), text.size());
  }
  return bytes;
}

/// Puts the texts of rank `first` of `step` in their places.
void from_bytes(std::string_view bytes, size_t first, size_t step, std::span<TokenList> texts) {
  const auto take = [&](int32_t* to, size_t count) {
    ZERO_REQUIRE(bytes.size() >= count * sizeof(int32_t), "texts of rank ", first, " are cut off");
    std::memcpy(to, bytes.data(), count * sizeof(int32_t));
    bytes.remove_prefix(count * sizeof(int32_t));
  };
  for (size_t i = first; i < texts.size(); i += step) {
    int32_t length = 0;
    take(&length, 1);
    texts[i].resize(size_t(length));
    take(texts[i].data(), texts[i].size());
  }
}

/// Writes this rank's texts. Ranks that end earlier receive signs of life of the others.
std::vector<TokenList> write_alone(TextGenerator& generator, const launch::Peers& peers,
                                   std::span<const TokenList> sources,
                                   std::span<const int64_t> numbers) {
  std::atomic<int64_t> steps{0};
  launch::SignOfLife life(peers, {.name = "its texts", .slow = "a text takes long", .moved = [&] {
                                    return steps.load();
                                  }});
  std::vector<TokenList> texts;
  try {
    texts = generator.write(sources, numbers, {}, [&] { ++steps; });
  } catch (...) {
    life.fail();
    life.finish();
    throw;
  }
  life.finish();
  return texts;
}

}  // namespace

std::vector<TokenList> write_by_ranks(TextGenerator& generator, const launch::Peers& peers,
                                      std::span<const TokenList> sources, int64_t first) {
  std::vector<TokenList> own;
  std::vector<int64_t> numbers;
  const size_t rank = size_t(peers.rank()), ranks = size_t(peers.ranks());
  for (size_t i = rank; i < sources.size(); i += ranks) {
    own.push_back(sources[i]);
    numbers.push_back(first + int64_t(i));
  }
  const std::vector<TokenList> texts = generator.is_shared()
                                           ? generator.write(own, numbers)
                                           : write_alone(generator, peers, own, numbers);
  std::vector<TokenList> all(sources.size());
  const std::vector<std::string> shared = peers.share(to_bytes(texts));
  for (size_t from = 0; from < ranks; ++from) from_bytes(shared[from], from, ranks, all);
  return all;
}

void warn_of_stuck(const launch::Peers& peers, int64_t stuck, int64_t count) {
  const int64_t all = int64_t(peers.sum(double(stuck)));
  if (all == 0 || peers.rank() > 0) return;
  warn(counted(all, "text"), " of ", count,
       " ended where the rules of [generation] left no token; loosen no_repeat_ngram_size, ",
       "suppress_tokens or the least lengths");
}

std::vector<TokenList> shared_by_first(const launch::Peers& peers,
                                       std::span<const TokenList> texts) {
  const bool is_first = peers.rank() == 0;
  const std::string bytes = is_first ? to_bytes(texts) : "";
  if (peers.largest(int64_t(bytes.size())) > kMostShared) {
    refuse(Exit::kInput, "these lines have more tokens than ranks share at a time, ",
           kMostShared / int64_t(sizeof(int32_t)), "; write them to several files");
  }
  const int64_t count = peers.largest(is_first ? int64_t(texts.size()) : 0);
  std::vector<TokenList> all(static_cast<size_t>(count));
  from_bytes(peers.share(bytes)[0], 0, 1, all);
  return all;
}

std::vector<TokenList> generate_texts(const state::StateView& view, const launch::Peers& peers,
                                      const model::Recipe& recipe, const GenerationOptions& options,
                                      std::span<const TokenList> sources) {
  TextGenerator generator(recipe, options);
  join_weights(view, peers, peers.ranks(),
               [&](int32_t index, int64_t first, std::span<const float> values) {
                 generator.set_parameter(index, first, values);
               });
  return write_by_ranks(generator, peers, sources);
}

}  // namespace zero::writing
