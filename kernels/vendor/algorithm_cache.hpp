#pragma once
/// What is remembered of a library, problem by problem: what was made for it, and which algorithm
/// does it best, kept in a file from run to run. Nothing here knows the library: an algorithm is
/// the 64 bytes that it calls so.

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero::kernels::vendor {

/// What was made for each key at its first use. Few keys: they are looked through one by one. Its
/// owner locks it where threads share it.
template <class Key, class Value>
class MadeOnce {
 public:
  /// make(key) gives a Value. The reference holds until kMost keys are there and another comes:
  /// then all are made afresh.
  template <class Make>
  Value& get(const Key& key, const Make& make) {
    for (const auto& entry : entries_)
      if (entry->key == key) return entry->value;
    if (entries_.size() == kMost) entries_.clear();
    entries_.push_back(std::make_unique<Entry>(Entry{key, make(key)}));
    return entries_.back()->value;
  }

  size_t size() const { return entries_.size(); }

  /// More than any model here has of them.
  static constexpr size_t kMost = 256;

 private:
  struct Entry {
    Key key;
    Value value;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
};

/// What was measured for one product.
struct Algorithm {
  std::array<std::byte, 64> description;
  float microseconds;
};

/// A table in memory that a file keeps, one line an entry, to which several processes add: a line
/// is one append and carries its own check sum, so a torn or foreign line is passed over. Entries
/// belong to a machine, the GPU and the library's version, and are not seen under another. A file
/// that cannot be read or written costs measuring again and nothing else. Thread-safe.
class AlgorithmCache {
 public:
  /// `path` "" keeps nothing; its folder is made if need be. `machine` and problems hold no tab and
  /// no line feed.
  AlgorithmCache(std::string path, std::string machine);

  std::optional<Algorithm> find(const std::string& problem) const;
  /// Reads what has been added to the file meanwhile.
  void read_on();
  /// Replaces an entry; the last line of a file counts.
  void keep(const std::string& problem, const Algorithm& algorithm);

  /// Lines of the file that were passed over as damaged.
  int damaged_lines() const { return damaged_lines_; }

  /// While it lives no other Turn at the file does, so that ranks which come to a problem together
  /// measure it once and go on alike. Waits for at most `milliseconds_most`: what may keep another
  /// one is a peer that waits for this one, and measuring twice costs less than waiting for ever.
  /// A thread has one at a time.
  class Turn {
   public:
    static constexpr int kMillisecondsMost = 5000;
    explicit Turn(const AlgorithmCache& cache, int milliseconds_most = kMillisecondsMost);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// Whether it is the only one; never without a file that can be locked.
    bool alone() const { return alone_; }

   private:
    int file_;
    bool alone_ = false;
  };

  /// A file that has grown beyond this is neither read on nor added to.
  static constexpr size_t kBytesMost = size_t(4) << 20;

 private:
  void read_line(std::string_view line);

  std::string path_, machine_;
  mutable std::mutex mutex_;
  size_t read_bytes_ = 0;
  std::map<std::string, Algorithm> known_;
  int damaged_lines_ = 0;
};

// Which of several ways to compute the same thing is the fastest here: measured once, then kept.

struct Way {
  std::string name;                             ///< in the cache
  std::function<bool(const Algorithm&)> takes;  ///< whether what was kept can still be done
  /// Its best algorithm and time; none: it cannot be done here.
  std::function<std::optional<Algorithm>()> measure;
};

struct FastestWay {
  size_t way;
  Algorithm algorithm;
};

/// The first of the fastest. What `cache` has no time of, or one of an algorithm that is no longer
/// taken, is measured and kept, by one process of those that share the file; that something cannot
/// be done is kept as an infinite time. Throws Error(kInternal) where nothing can be done.
FastestWay fastest_way(AlgorithmCache& cache, std::span<const Way> ways);

}  // namespace zero::kernels::vendor
