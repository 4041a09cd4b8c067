#pragma once
/// Prepared sets: documents as ids in a folder named X.documents. A set does not depend on the
/// length of samples or on their packing. All numbers are little-endian.
///
///   list         lines "key value" of what the set is, written last: a set without it is not whole
///   00000, ...   a part, of documents in a row: header (PartHeader), then the place of each
///                document's first token and of their end, i64 [documents + 1]; the learnt tokens
///                of each but its first, i32 [documents]; the ids, u16 or u32; a bit for each
///                token, u64 words, set if it is learnt; and a digest of each block of
///                kDigestBytes of ids and bits, u64

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/data/document_source.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// True for the name of a prepared set.
bool names_prepared(const std::string& path);
/// True for the name of the prepared set of a text, X.encoded, whose documents are stretches of it.
bool names_prepared_text(const std::string& path);
/// Returns the path of a set's list.
std::string prepared_list(const std::string& folder);
/// Returns the path of a set's part.
std::string prepared_part(const std::string& folder, int64_t part);

struct PartHeader;

/// The list of a prepared set.
struct PreparedList {
  int64_t parts = 0, documents = 0, tokens = 0, vocabulary = 0;
  int64_t empty = 0, merged = 0;
  int64_t end = -1;            ///< id that ends texts
  int64_t special_tokens = 1;  ///< 0: names of special tokens were plain text
  uint64_t tokenizer = 0;      ///< fingerprint; 0: the files held ids
  uint64_t digest = 0;         ///< of all parts

  /// Adds a part's counts, and its digest behind those before it.
  void add(const PartHeader& part);
};
std::string to_text(const PreparedList& list);
/// Reads the list of a set. Throws Error(kInput) if it is missing or damaged.
PreparedList read_prepared_list(const std::string& folder);

/// The begin of a part's file.
struct PartHeader {
  uint64_t magic = 0, version = 0;
  uint64_t rules = 0;  ///< number that changes with file, place in it, tokenizer and rules
  uint64_t id_bytes = 0;
  uint64_t documents = 0, tokens = 0, vocabulary = 0;
  uint64_t empty = 0, merged = 0;
  uint64_t index_digest = 0;   ///< of places and targets
  uint64_t block_digest = 0;   ///< of the digests of blocks
  uint64_t header_digest = 0;  ///< of the members above
};
inline constexpr uint64_t kPartMagic = 0x0A1A0A0D434F445A;  ///< "ZDOC\r\n\x1A\n"
inline constexpr int64_t kDigestBytes = int64_t(1) << 20;

/// Returns the digest of a header's other members.
uint64_t digest_of(const PartHeader& header);

/// Opens a prepared set. Ids and bits stay in its files, 12 bytes a document in memory.
/// fingerprint() checks all blocks of sets of up to 1 GiB, and some of larger ones. Throws
/// Error(kInput) for damage and for a larger vocabulary than the model's; SettingsError if it was
/// prepared by another tokenizer or by other rules.
std::unique_ptr<DocumentSource> open_prepared_documents(const std::string& folder,
                                                        const DocumentRules& rules,
                                                        const Tokenizer& tokenizer);

/// Opens the prepared set of a text, which this run has made. Throws as above.
std::unique_ptr<TokenSource> open_prepared_text(const std::string& folder,
                                                const Tokenizer& tokenizer, int64_t vocab_size);

}  // namespace zero
