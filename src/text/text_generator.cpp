#include "zero/text/text_generator.hpp"

#include <algorithm>
#include <utility>

#include "src/text/row_decoder.hpp"
#include "src/text/text_search.hpp"
#include "zero/base/error.hpp"
#include "zero/base/team.hpp"

namespace zero::writing {
namespace {

constexpr int64_t kDefaultNewTokens = 20;
/// Rows of beginnings, or of sources, in one chunk.
constexpr int64_t kPrefillRows = 64, kSourceRows = 256;
/// Logits of a step from which on threads share the searches.
constexpr size_t kSharedLogits = 1 << 16;

/// A rank's next run. Ranks that hold the weights together run the last value that any wants. So
/// none waits long to begin, and waiting rows change no bit.
enum class Turn : int64_t { none, decode, prefill };

bool has_encoder(const model::DataForm& form) { return form.ids.start >= 0; }

/// Returns the maximum tokens of a text with a beginning of this length.
int64_t most_tokens(const SearchRules& rules, int64_t beginning) {
  const int64_t whole = rules.scores.max_length, added = rules.max_new_tokens;
  if (whole == 0) return beginning + (added > 0 ? added : kDefaultNewTokens);
  return added > 0 ? std::min(whole, beginning + added) : whole;
}

void require_positions(const model::DataForm& form, int64_t length, const char* what) {
  if (length <= form.context()) return;
  refuse(Exit::kUsage, "generation: ", what, " of ", length, " tokens, but the model has ",
         form.context(), " positions; ask for shorter ones");
}

/// Returns the tokens in a text's cache, which never needs the last one.
int64_t context_of(const model::DataForm& form, const GenerationOptions& options) {
  const int64_t source = options.longest_source;
  ZERO_REQUIRE(source > 0 && options.batch > 0, "a batch of ", options.batch, " sources of ",
               source, " tokens: both must be at least 1");
  const int64_t text = most_tokens(options.rules, has_encoder(form) ? 1 : source);
  require_positions(form, text - 1, "texts");
  require_positions(form, source, "sources");
  return std::max<int64_t>(text - 1, 1);
}

RowDecoder::Options rows_of(const model::Architecture& model, const GenerationOptions& options) {
  const model::DataForm form = model::data_form(model);
  const int64_t texts = options.batch * options.rules.num_beams, source = options.longest_source;
  graph::Chunk decode{
      .length = texts, .context = context_of(form, options), .texts = texts, .encodes = false};
  graph::Chunk prefill = decode;
  prefill.length = std::min(kPrefillRows, options.batch * source);
  if (has_encoder(form)) {
    decode.source_context = source;
    decode.sources = options.batch;
    prefill = decode;
    prefill.encodes = true;
    prefill.length = std::max(source, std::min(kSourceRows, options.batch * source));
  }
  return {.compute = options.compute,
          .threads = options.threads,
          .decode = decode,
          .prefill = prefill,
          .together = options.together,
          .lent = options.lent};
}

}  // namespace

/// The searches and plans of a generator. Searches begin and end at any time, so each step has as
/// many rows as fit.
struct TextGenerator::Parts {
  Parts(const model::Recipe& recipe, const GenerationOptions& of)
      : form(model::data_form(recipe.model)),
        options(of),
        sizes(rows_of(recipe.model, of)),
        rows(recipe, sizes) {
    for (int32_t place = 0; place < int32_t(of.batch); ++place)
      searches.emplace_back(place, int32_t(of.rules.num_beams));
  }

  void require_source(const TokenList& source) const {
    if (source.empty() || int64_t(source.size()) > options.longest_source) {
      refuse(Exit::kUsage, "generation: a source of ", source.size(), " tokens: 1 to ",
             options.longest_source, " were announced");
    }
    if (!has_encoder(form) && int64_t(source.size()) >= most_tokens(options.rules, source.size())) {
      refuse(Exit::kUsage, "generation: a prompt of ", source.size(), " tokens leaves none of ",
             most_tokens(options.rules, source.size()), "; write a larger max_length");
    }
    for (const int32_t token : source) {
      if (token >= 0 && token < form.vocabulary) continue;
      refuse(Exit::kUsage, "token ", token, " is none of the model's ", form.vocabulary,
             ": the text was encoded with another vocabulary");
    }
  }

  /// Gives waiting sources to free searches.
  void admit(std::span<const TokenList> sources, std::span<const int64_t> numbers, size_t& next) {
    for (CachedSearch& search : searches) {
      if (!search.is_free() || next == sources.size()) continue;
      const TokenList& source = sources[next];
      const TokenList start = {int32_t(form.ids.start)};
      const TokenList& beginning = has_encoder(form) ? start : source;
      SearchRules rules = options.rules;
      rules.scores.max_length = most_tokens(rules, int64_t(beginning.size()));
      rules.choice.text = uint64_t(numbers.empty() ? int64_t(next) : numbers[next]);
      search.begin(int64_t(next), search_text(rules, source, beginning), source);
      ++next;
    }
  }

  /// Returns this rank's next run. Sources and beginnings go before running texts.
  Turn wanted() const {
    const auto any = [&](const auto& is) { return std::ranges::any_of(searches, is); };
    if (!any([](const CachedSearch& search) { return !search.is_free(); })) return Turn::none;
    const bool waits = any([&](const CachedSearch& search) {
      return has_encoder(form) ? search.wants_reading() : !search.is_free() && !search.has_begun();
    });
    return waits ? Turn::prefill : Turn::decode;
  }

  Turn agreed(Turn own) const {
    const auto& together = options.together;
    return together && together->largest ? Turn(together->largest(int64_t(own))) : own;
  }

  /// Runs the body of a turn, with rows if it is this rank's turn, too.
  void run(Turn turn, Turn own) {
    chunk.clear();
    moves.clear();
    logits.clear();
    const plan::BodyId body = turn == Turn::prefill ? plan::kPrefill : plan::kDecode;
    if (turn != own) return rows.run(body, {});
    if (turn == Turn::prefill && has_encoder(form)) return read_sources();
    go_on(body, turn == Turn::prefill ? sizes.prefill.length : sizes.decode.length);
  }

  /// Reads as many whole sources as fit.
  void read_sources() {
    for (CachedSearch& search : searches) {
      const int64_t room = sizes.prefill.length - int64_t(chunk.size());
      if (search.wants_reading() && int64_t(search.source().size()) <= room)
        search.add_source(chunk);
    }
    rows.run(plan::kPrefill, {.rows = chunk});
  }

  /// Runs a body for its searches: prefill for those that have not begun, decode for all.
  void go_on(plan::BodyId body, int64_t room) {
    std::vector<CachedSearch*> taking;
    for (CachedSearch& search : searches) {
      if (search.is_free() || (body == plan::kPrefill && search.has_begun())) continue;
      search.add_rows(room - int64_t(chunk.size()), chunk);
      for (const kernels::CacheMove& move : search.moves()) moves.push_back(move);
      const int64_t wanted = search.wanted();
      for (int64_t i = wanted; i > 0; --i) logits.push_back(int32_t(int64_t(chunk.size()) - i));
      if (wanted > 0) taking.push_back(&search);
    }
    rows.run(body, {.rows = chunk, .moves = moves, .logits = logits});
    take(taking);
  }

  void take(std::span<CachedSearch* const> taking) {
    const std::span<const float> all = rows.logits();
    std::vector<size_t> begins;
    size_t begin = 0;
    for (const CachedSearch* search : taking) {
      begins.push_back(begin);
      begin += size_t(search->wanted()) * size_t(form.vocabulary);
    }
    const int team = all.size() < kSharedLogits ? 1 : options.threads;
    in_team(team, [&](int member) {
      for (size_t i = size_t(member); i < taking.size(); i += size_t(team)) {
        const size_t numel = size_t(taking[i]->wanted()) * size_t(form.vocabulary);
        taking[i]->take(all.subspan(begins[i], numel));
      }
    });
  }

  void collect(std::vector<TokenList>& texts, const TextVisitor& visit) {
    for (CachedSearch& search : searches) {
      if (search.is_free() || !search.search().ended()) continue;
      texts[size_t(search.index())] = search.search().best();
      if (visit) visit(search.index(), search.search().best());
      search.free();
    }
  }

  model::DataForm form;
  GenerationOptions options;
  RowDecoder::Options sizes;
  RowDecoder rows;
  std::vector<CachedSearch> searches;
  std::vector<TokenRow> chunk;
  std::vector<kernels::CacheMove> moves;
  std::vector<int32_t> logits;  ///< rows that need logits
};

plan::TierBytes TextGenerator::bytes(const model::Recipe& recipe,
                                     const GenerationOptions& options) {
  return RowDecoder::bytes(recipe, rows_of(recipe.model, options));
}

TextGenerator::TextGenerator(const model::Recipe& recipe, const GenerationOptions& options)
    : parts_(std::make_unique<Parts>(recipe, options)) {}
TextGenerator::~TextGenerator() = default;

const graph::Graph& TextGenerator::graph() const { return parts_->rows.graph(); }

bool TextGenerator::is_shared() const { return parts_->options.together.has_value(); }

void TextGenerator::set_parameter(int32_t index, int64_t first, std::span<const float> values) {
  parts_->rows.set_parameter(index, first, values);
}

std::vector<TokenList> TextGenerator::write(std::span<const TokenList> sources,
                                            std::span<const int64_t> numbers,
                                            const TextVisitor& visit,
                                            const std::function<void()>& moved) {
  ZERO_REQUIRE(numbers.empty() || numbers.size() == sources.size(), numbers.size(), " numbers of ",
               sources.size(), " sources");
  for (const TokenList& source : sources) parts_->require_source(source);
  for (CachedSearch& search : parts_->searches) search.free();
  std::vector<TokenList> texts(sources.size());
  size_t next = 0;
  for (;;) {
    parts_->admit(sources, numbers, next);
    const Turn own = parts_->wanted(), turn = parts_->agreed(own);
    if (turn == Turn::none) return texts;
    parts_->run(turn, own);
    parts_->collect(texts, visit);
    if (moved) moved();
  }
}

std::string answer_text(TokenList ids, int64_t start, int64_t end, const Tokenizer& tokenizer) {
  std::erase_if(
      ids, [&](int32_t id) { return id == start || id == end || id >= tokenizer.vocab_size(); });
  return tokenizer.decode(ids, SpecialTokens::kSkipped);
}

}  // namespace zero::writing
