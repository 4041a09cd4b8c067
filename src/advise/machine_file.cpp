#include "zero/advise/machine_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <variant>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {
namespace {

/// A line of the file.
struct Line {
  std::string_view key;  ///< with its section
  std::variant<int64_t MachineFigures::*, double MachineFigures::*, std::string MachineFigures::*>
      place;
  bool required = false;
};

using Figures = MachineFigures;
constexpr bool kRequired = true;
const std::array kLines = {
    Line{"host", &Figures::host},
    Line{"ranks", &Figures::ranks, kRequired},
    Line{"threads", &Figures::threads, kRequired},
    Line{"device_bytes", &Figures::device_bytes, kRequired},
    Line{"communicator_bytes", &Figures::communicator_bytes},
    Line{"gpus_per_node", &Figures::gpus_per_node},
    Line{"host_bytes", &Figures::host_bytes},
    Line{"link_gb", &Figures::link_gb},
    Line{"node_link_gb", &Figures::node_link_gb},
    Line{"products.fp32", &Figures::fp32},
    Line{"products.bf16", &Figures::bf16},
    Line{"products.fp16", &Figures::fp16},
    Line{"memory.stream", &Figures::stream, kRequired},
    Line{"memory.host_stream", &Figures::host_stream},
    Line{"steps.fp32", &Figures::step_fp32},
    Line{"steps.bf16", &Figures::step_bf16},
    Line{"steps.fp16", &Figures::step_fp16},
    Line{"steps.op_fp32", &Figures::op_fp32},
    Line{"steps.op_bf16", &Figures::op_bf16},
    Line{"steps.op_fp16", &Figures::op_fp16},
    Line{"steps.random", &Figures::random},
    Line{"copies.h2d", &Figures::h2d},
    Line{"copies.d2h", &Figures::d2h},
    Line{"collectives.all_gather", &Figures::all_gather},
    Line{"collectives.reduce_scatter", &Figures::reduce_scatter},
    Line{"collectives.latency", &Figures::latency},
    Line{"disk.path", &Figures::disk},
    Line{"disk.read", &Figures::read},
    Line{"disk.write", &Figures::write},
    Line{"disk.mixed", &Figures::mixed},
};

/// Returns the comment on a section's unit.
std::string_view unit_of(std::string_view section) {
  if (section == "products") return "floating-point operations a second";
  if (section == "memory")
    return "bytes a second that are read and written; host: of a device's host";
  if (section == "steps") {
    return "share of the rates above that a training step reaches; op: seconds of an op beside its "
           "work; random: numbers a second that dropout draws";
  }
  if (section == "copies") return "bytes a second between host and device";
  if (section == "collectives") return "bytes a second that a rank sends; seconds of a small one";
  return "bytes a second; mixed: of both directions together";
}

/// Rounds to four digits, the precision of measurements.
double rounded(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return std::atof(digits);
}

TomlValue value_of(const Figures& figures, const Line& line) {
  return std::visit(
      [&](auto place) -> TomlValue {
        if constexpr (std::is_same_v<decltype(place), double Figures::*>) {
          return rounded(figures.*place);
        } else {
          return figures.*place;
        }
      },
      line.place);
}

bool is_absent(const TomlValue& value) {
  return value == TomlValue(0.0) || value == TomlValue(int64_t(0)) ||
         value == TomlValue(std::string());
}

/// Stores a value. Returns the error text, "" on success.
std::string take(Figures& figures, const Line& line, const TomlValue& value) {
  if (const auto* place = std::get_if<std::string Figures::*>(&line.place)) {
    if (!std::holds_alternative<std::string>(value)) return "must be a string";
    figures.*(*place) = std::get<std::string>(value);
    return "";
  }
  const auto* whole = std::get_if<int64_t>(&value);
  if (const auto* place = std::get_if<int64_t Figures::*>(&line.place)) {
    if (whole == nullptr || *whole < 1) return "must be an integer of at least 1";
    figures.*(*place) = *whole;
    return "";
  }
  const auto* real = std::get_if<double>(&value);
  const double number = whole ? double(*whole) : real ? *real : 0;
  if (!(number > 0)) return "must be a number above 0";
  figures.*std::get<double Figures::*>(line.place) = number;
  return "";
}

/// A group of figures by kind of op, "fp32.linear", in a section per dtype.
struct KindLines {
  std::string_view section;
  std::map<std::string, double> Figures::*figures;
  std::string_view unit;
};
constexpr KindLines kKindLines[] = {
    {"kinds", &Figures::kinds, "share of the rates above that ops of a kind reach"},
    {"exponentials", &Figures::exponentials,
     "seconds of each that ops of a kind take beside their products"}};
constexpr std::string_view kTypes[] = {"fp32", "bf16", "fp16"};

/// Returns the section of the key "kinds.fp32.linear"; null if the key names no kind.
const KindLines* kind_lines_of(std::string_view key) {
  const size_t dot = key.find('.');
  if (dot == key.npos) return nullptr;
  const std::string_view kind = key.substr(dot + 1);
  const size_t next = kind.find('.');
  const bool has_type = std::ranges::find(kTypes, kind.substr(0, next)) != std::end(kTypes);
  if (!has_type || next == kind.npos) return nullptr;
  const auto found = std::ranges::find(kKindLines, key.substr(0, dot), &KindLines::section);
  return found == std::end(kKindLines) ? nullptr : found;
}

std::string kinds_text(const Figures& figures, const KindLines& lines) {
  std::string out;
  std::string_view section;
  for (const auto& [key, figure] : figures.*lines.figures) {
    const size_t dot = key.find('.');
    const std::string_view type = std::string_view(key).substr(0, dot);
    if (type != section) {
      section = type;
      out += text("\n[", lines.section, ".", type, "]  # ", lines.unit, "\n");
    }
    out += text(key.substr(dot + 1), " = ", to_text(TomlValue(rounded(figure))), "\n");
  }
  return out;
}

/// A reader that collects the faults of a document, a line each.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Figures read(const TomlDocument& document) {
    for (const TomlProblem& problem : document.problems) {
      report(problem.line, problem.key, problem.what);
    }
    for (const TomlEntry& entry : document.entries) read_entry(entry);
    for (const Line& line : kLines) {
      const bool given = std::any_of(document.entries.begin(), document.entries.end(),
                                     [&](const TomlEntry& entry) { return entry.key == line.key; });
      if (line.required && !given) report(0, line.key, "is missing");
    }
    if (!wrong_.empty()) {
      refuse(Exit::kUsage, wrong_, "\nzeroapp calibrate writes such a file");
    }
    return figures_;
  }

 private:
  void read_entry(const TomlEntry& entry) {
    if (const KindLines* lines = kind_lines_of(entry.key)) return read_kind(*lines, entry);
    const auto line = std::find_if(kLines.begin(), kLines.end(),
                                   [&](const Line& known) { return known.key == entry.key; });
    const std::string what =
        line == kLines.end() ? "unknown key" : take(figures_, *line, entry.value);
    if (!what.empty()) report(entry.line, entry.key, what);
  }

  void read_kind(const KindLines& lines, const TomlEntry& entry) {
    const auto* whole = std::get_if<int64_t>(&entry.value);
    const auto* real = std::get_if<double>(&entry.value);
    const double figure = whole ? double(*whole) : real ? *real : 0;
    if (figure > 0) {
      (figures_.*lines.figures)[entry.key.substr(lines.section.size() + 1)] = figure;
    } else {
      report(entry.line, entry.key, "must be a number above 0");
    }
  }

  void report(int line, std::string_view key, std::string_view what) {
    if (!wrong_.empty()) wrong_ += '\n';
    wrong_ += path_ + ":";
    if (line > 0) wrong_ += text(line, ":");
    wrong_ += text(" ", key, key.empty() ? "" : ": ", what);
  }

  const std::string& path_;
  Figures figures_;
  std::string wrong_;
};

double or_default(double measured, double unknown) { return measured > 0 ? measured : unknown; }

double step_share(const Figures& figures, Dtype compute) {
  const double measured = compute == Dtype::f32   ? figures.step_fp32
                          : compute == Dtype::f16 ? figures.step_fp16
                                                  : figures.step_bf16;
  return or_default(measured, 1);
}

/// Returns the dtype part of a kind's key.
std::string type_prefix(Dtype compute) {
  return compute == Dtype::f32 ? "fp32." : compute == Dtype::f16 ? "fp16." : "bf16.";
}

/// Adds the figures of kinds of ops. The rates of `machine` already include the share that a step
/// reaches.
void add_steps(const Figures& figures, Dtype compute, plan::Machine& machine) {
  const std::string prefix = type_prefix(compute);
  for (const auto& [key, share] : figures.kinds) {
    if (!key.starts_with(prefix)) continue;
    machine.kind_shares[key.substr(prefix.size())] = share / step_share(figures, compute);
  }
  for (const auto& [key, seconds] : figures.exponentials) {
    if (key.starts_with(prefix)) machine.exponential_seconds[key.substr(prefix.size())] = seconds;
  }
  machine.op_seconds = compute == Dtype::f32   ? figures.op_fp32
                       : compute == Dtype::f16 ? figures.op_fp16
                                               : figures.op_bf16;
  machine.random_rate = figures.random;
}

/// Returns one rate for gather and reduce, because a plan sends about as much by each. With several
/// nodes these were measured over all of them.
double link_of(const Figures& figures) {
  if (figures.link_gb > 0) return 1e9 * figures.link_gb;
  if (figures.all_gather == 0 || figures.reduce_scatter == 0) return 0;
  return 2 / (1 / figures.all_gather + 1 / figures.reduce_scatter);
}

}  // namespace

std::string machine_text(const Figures& figures) {
  std::string out = text(
      "# Measured by zeroapp calibrate: rates of one rank while all ranks measure.\n"
      "# zeroapp plan INPUT.toml --machine FILE forecasts with them; run.machine = \"FILE\" in an\n"
      "# input file also has the run choose by them.\n");
  if (figures.link_gb > 0) {
    out +=
        "# link_gb and node_link_gb: 1e9 bytes a second that a rank sends within its node, and\n"
        "# that all ranks of a node together send to others.\n";
  }
  std::string section;
  for (const Line& line : kLines) {
    const TomlValue value = value_of(figures, line);
    if (is_absent(value)) continue;
    const size_t dot = line.key.find('.');
    const std::string_view own = dot == line.key.npos ? "" : line.key.substr(0, dot);
    if (own != section) {
      section = own;
      out += text("\n[", section, "]  # ", unit_of(section), "\n");
    }
    out += text(dot == line.key.npos ? line.key : line.key.substr(dot + 1), " = ", to_text(value),
                "\n");
  }
  for (const KindLines& lines : kKindLines) out += kinds_text(figures, lines);
  return out;
}

MachineFigures read_machine_file(const std::string& path) {
  const FileStart file = read_start(path, kTomlMaxBytes + 1);
  if (file.reason != 0) {
    refuse(Exit::kUsage, path, ": ", path_advice(file.reason), "; zeroapp calibrate --out ", path,
           " measures this machine into it");
  }
  if (file.bytes.size() > kTomlMaxBytes) {
    refuse(Exit::kUsage, path, ": has more than ", kTomlMaxBytes,
           " bytes; a machine's file has fewer");
  }
  return Reader(path).read(parse_toml(file.bytes));
}

double product_flops(const Figures& figures, Dtype compute) {
  if (compute == Dtype::f32) return figures.fp32;
  return compute == Dtype::f16 ? figures.fp16 : figures.bf16;
}

plan::Machine machine_of(const Figures& figures, Dtype compute, const std::string& name) {
  const double flops = product_flops(figures, compute), share = step_share(figures, compute);
  if (flops == 0) {
    refuse(Exit::kUsage, name, ": holds no rate of ", name_of(compute),
           " products; add it to [products], or plan in another type");
  }
  plan::Machine machine{
      .name = name, .device_bytes = figures.device_bytes, .product_flops = share * flops};
  machine.communicators.measured = figures.communicator_bytes;
  machine.memory_bandwidth = share * figures.stream;
  add_steps(figures, compute, machine);
  machine.has_memory = figures.host_stream > 0;
  machine.host_bandwidth = or_default(figures.host_stream, figures.stream);
  machine.host_is_measured = machine.has_memory;
  machine.copy_bandwidth = or_default(std::min(figures.h2d, figures.d2h), machine.copy_bandwidth);
  machine.link_bandwidth = or_default(link_of(figures), machine.link_bandwidth);
  machine.node_link_bandwidth = 1e9 * figures.node_link_gb;
  machine.gpus_per_node = figures.gpus_per_node;
  machine.host_bytes = figures.host_bytes;
  machine.link_latency = or_default(figures.latency, machine.link_latency);
  // A disk shares its rate, because states are read and written at the same time.
  const double each = figures.mixed / 2;
  machine.disk_read_bandwidth =
      or_default(std::min(figures.read, each), machine.disk_read_bandwidth);
  machine.disk_write_bandwidth =
      or_default(std::min(figures.write, each), machine.disk_write_bandwidth);
  machine.disk_is_measured = figures.mixed > 0;
  return machine;
}

namespace {

/// Returns a warning if the plan has other ranks than measured, because ranks share a machine;
/// otherwise "".
std::string other_launch(const std::string& machine, int64_t measured, bool has_collectives,
                         int64_t ranks) {
  if (ranks > 1 && !has_collectives) {
    return machine + ": was measured on one rank: the time of collectives is a guess";
  }
  if (ranks == measured) return "";
  return text(machine, ": was measured on ", counted(measured, "rank"), ", and the plan has ",
              ranks, ": times may be others");
}

MachineRates read_rates(const std::string& machine, const RunConfig& config, int64_t ranks) {
  const Dtype compute = setup::compute_dtype(config);
  if (!is_machine_file(machine)) return {.machine = plan::machine_profile(machine, compute)};
  const MachineFigures figures = read_machine_file(machine);
  return {.machine = machine_of(figures, compute, machine),
          .threads = figures.threads,
          .file = machine_text(figures),
          .warning = other_launch(machine, figures.ranks, figures.all_gather > 0, ranks)};
}

}  // namespace

bool is_machine_file(const std::string& machine) {
  return machine.find_first_of("./") != machine.npos;
}

MachineRates rates_of_option(const std::string& machine, const RunConfig& config, int64_t ranks) {
  try {
    return read_rates(machine, config, ranks);
  } catch (const Error& error) {
    throw Error(error.exit(), text("--machine ", error.what()));
  }
}

MachineRates rates_of_key(const RunConfig& config, int64_t ranks) {
  try {
    return read_rates(config.run.machine, config, ranks);
  } catch (const Error& error) {
    if (error.exit() != Exit::kUsage) throw;
    refuse_settings({"run.machine"}, error.what());
  }
}

}  // namespace zero::advise
