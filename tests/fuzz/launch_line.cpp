/// Any words, split at the control character US, as a launch line of a configuration of Accelerate
/// or a file of DeepSpeed, by their number, that leaves most to them.

#include "src/config/import/launch_line.hpp"

#include <unistd.h>

#include "tests/fuzz/imported.hpp"
#include "tests/support/temp_file.hpp"

namespace {

const char* kDeepSpeed = R"({"train_batch_size": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}},
    "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})";
const char* kAccelerate =
    "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
    "deepspeed_config:\n  zero_stage: 2\nfsdp_config: {sharding_strategy: FULL_SHARD}\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const zero::testing_support::TempFile json("line.json", kDeepSpeed),
      yaml("line.yaml", kAccelerate);
  const auto words = zero::split({reinterpret_cast<const char*>(data), size});
  zero::within_a_second([&] {
    zero::read_launch_line(words);
    zero::check_import(words.size() % 2 ? json.path() : yaml.path(), words, size % 2);
  });
  return 0;
}
