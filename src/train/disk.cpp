#include "zero/train/disk.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace zero::train {
namespace {

aio::QueueOptions queue_options(const AioConfig& config) {
  return {.block_bytes = config.block_size,
          .single_submit = config.single_submit,
          .overlap_events = config.overlap_events};
}

std::string idle_threads(const AioConfig& config) {
  if (config.intra_op_parallelism == AioConfig().intra_op_parallelism) return "";
  return text("aio.intra_op_parallelism = ", config.intra_op_parallelism,
              " does nothing here: io_uring moves the blocks, aio.queue_depth = ",
              config.queue_depth, " at a time; remove it, and raise that");
}

void add_folder(const char* key, Home home, const std::string& folder,
                std::vector<std::string>& folders) {
  if (home != Home::nvme) return;
  if (!std::filesystem::is_directory(folder)) {
    refuse(
        Exit::kUsage, key, ": ", folder,
        " is no folder; make it on a local disk, or write another: nothing is created by itself");
  }
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

}  // namespace

DiskSettings disk_settings(const RunConfig& config) {
  DiskSettings settings{.folders = {}, .aio = config.aio};
  add_folder("zero.offload_optimizer.nvme_path", config.offload_optimizer.device,
             config.offload_optimizer.nvme_path, settings.folders);
  add_folder("zero.offload_param.nvme_path", config.offload_param.device,
             config.offload_param.nvme_path, settings.folders);
  add_folder("activation_checkpointing.nvme_path", config.offload_activations.home(),
             config.offload_activations.nvme_path, settings.folders);
  return settings;
}

Disk::Disk(const DiskSettings& settings, int64_t bytes)
    : files_({.folders = settings.folders, .bytes = bytes, .block_bytes = settings.aio.block_size}),
      table_(files_.bytes()),
      read_(files_, table_, engine(settings.aio), queue_options(settings.aio)),
      write_(files_, table_, engine(settings.aio), queue_options(settings.aio)) {}

std::unique_ptr<aio::Engine> Disk::engine(const AioConfig& config) {
  aio::EngineChoice choice = aio::make_engine({.depth = int(config.queue_depth),
                                               .threads = int(config.intra_op_parallelism),
                                               .require_uring = config.require_uring});
  warning_ = choice.warning;
  if (warning_.empty() && choice.engine->name() == "io_uring") warning_ = idle_threads(config);
  return std::move(choice.engine);
}

void Disk::register_memory(std::span<std::byte> memory) {
  for (tiers::DiskTier* tier : {&read_, &write_}) {
    const std::string refused = tier->register_memory(memory);
    if (warning_.empty()) warning_ = refused;
  }
}

DiskBytes Disk::moved() const {
  return {.read = read_.moved_bytes(), .written = write_.moved_bytes()};
}

DiskBytes operator-(const DiskBytes& a, const DiskBytes& b) {
  return {.read = a.read - b.read, .written = a.written - b.written};
}

DiskBytes process_disk_bytes() {
  DiskBytes bytes;
  std::ifstream lines("/proc/self/io");
  for (std::string name; lines >> name;) {
    int64_t count = 0;
    lines >> count;
    if (name == "read_bytes:") bytes.read = count;
    if (name == "write_bytes:") bytes.written = count;
  }
  return bytes;
}

}  // namespace zero::train
