#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/launch/lost_links.hpp"
#include "zero/launch/board.hpp"

namespace zero::launch {

/// The ranks of a launch: their hosts, and a text that no other launch has.
struct Placement {
  std::vector<std::string> hosts;  ///< by rank
  std::string launch;
  std::string host = {};         ///< this rank's
  NodeAddresses addresses = {};  ///< of the other nodes
};

/// A cause of a hang over several nodes.
struct Hang {
  std::string what;     ///< as describe_hang() returns it, with nodes
  std::string blamed;   ///< the node of the first blamed rank; "" if none is blamed
  bool is_cut = false;  ///< a node is lost, or a link to it
};

/// The notes on a hang in a run's folder, hangs/<host>.json, of which each node leaves one. Ranks
/// of other nodes cannot be seen otherwise. A failed write counts as a node without a note.
class HangNotes {
 public:
  /// Time for the notes of other nodes, which a file system over a network may show late.
  static constexpr std::chrono::milliseconds kPatience{5000};

  HangNotes(const std::string& folder, Placement placement);

  /// True if a node has left a note in this launch.
  bool any() const;
  /// Leaves the note of the host of `words`, which are of one node, with its lost links.
  void leave(std::span<const Word> words, std::span<const LostLink> links = {}) const;
  /// Waits until all nodes have left a note, or for kPatience, and returns the cause. Blames ranks
  /// without signs of life, else ranks in an op that needs no peer, else lost links and nodes
  /// without a note.
  Hang cause(double patience_seconds) const;
  /// Returns the links of this node.
  Links links() const { return links_of(placement_.host, placement_.addresses); }
  /// True if this node has rank 0, whose output the launcher shows even without its other nodes.
  bool leads() const { return placement_.host == placement_.hosts.at(0); }

 private:
  std::vector<std::string> names() const;
  /// The content of a node's note.
  struct Note {
    std::vector<Word> words = {};
    std::vector<LostLink> links = {};
  };
  /// Returns none if its note is not among the names that are there.
  std::optional<Note> note_of(const std::string& host, std::span<const std::string> there) const;

  std::string folder_;
  Placement placement_;
  std::vector<std::string> nodes_;  ///< distinct hosts, in rank order
};

}  // namespace zero::launch
