// Ranks: 1
#include "zero/usage/command_line.hpp"

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::usage {
namespace {

CommandLine read(std::vector<const char*> words) { return read_command_line(words); }

std::string refusal(std::vector<const char*> words) {
  return testing_support::refusal_of(Exit::kUsage, [&] { read(std::move(words)); });
}

TEST(CommandLine, TrainsWithAnInputAndSettings) {
  const CommandLine line = read({"x.toml", "run.steps=3", "zero.stage=2"});
  EXPECT_EQ(line.command, Command::train);
  EXPECT_EQ(line.input, "x.toml");
  EXPECT_EQ(line.overrides, (std::vector<std::string>{"run.steps=3", "zero.stage=2"}));
  EXPECT_TRUE(read({"x.toml", "--dry-run"}).dry_run);
  const CommandLine named = read({"train", "x.toml", "run.steps=3"});
  EXPECT_EQ(named.command, Command::train);
  EXPECT_EQ(named.input, "x.toml");
  EXPECT_EQ(named.overrides, (std::vector<std::string>{"run.steps=3"}));
}

TEST(CommandLine, PlansForTheRanksAndMachineAskedFor) {
  const CommandLine line =
      read({"plan", "x.toml", "--ranks", "32", "--ranks-per-node", "8", "--threads", "3",
            "--machine", "v100_32g", "--json", "run.seed=2"});
  EXPECT_EQ(line.command, Command::plan);
  EXPECT_EQ(line.ranks, 32);
  EXPECT_EQ(line.ranks_per_node, 8);
  EXPECT_EQ(line.threads, 3);
  EXPECT_EQ(line.machine, "v100_32g");
  EXPECT_TRUE(line.json);
  EXPECT_EQ(line.overrides.size(), 1u);
}

TEST(CommandLine, ShowsTheDataOfSomeSteps) {
  const CommandLine line = read({"data", "x.toml", "--steps", "1..3", "--from", "r", "--ranks", "4",
                                 "--decode", "run.seed=2"});
  EXPECT_EQ(line.command, Command::data);
  EXPECT_EQ(line.steps, "1..3");
  EXPECT_EQ(line.from, "r");
  EXPECT_EQ(line.ranks, 4);
  EXPECT_TRUE(line.decode);
}

TEST(CommandLine, ImportsAFileIntoANewOne) {
  const CommandLine line = read(
      {"import-deepspeed", "ds.json", "run.steps=3", "-o", "new.toml", "--leave-out-unsupported"});
  EXPECT_EQ(line.command, Command::import_deepspeed);
  EXPECT_EQ(line.input, "ds.json");
  EXPECT_EQ(line.output, "new.toml");
  EXPECT_TRUE(line.leave_out_unsupported);
  EXPECT_FALSE(line.hf_defaults);
  EXPECT_NE(refusal({"import-deepspeed"}).find("no FILE"), std::string::npos);
}

TEST(CommandLine, TakesALaunchLineBehindTwoDashesAsItIs) {
  const CommandLine line = read({"import-deepspeed", "ds.json", "run.steps=3", "--hf-defaults",
                                 "--", "train.py", "--learning_rate", "-1", "--", "-o"});
  EXPECT_TRUE(line.hf_defaults);
  EXPECT_EQ(line.overrides, (std::vector<std::string>{"run.steps=3"}));
  EXPECT_EQ(line.launch_line,
            (std::vector<std::string>{"train.py", "--learning_rate", "-1", "--", "-o"}));
  EXPECT_EQ(line.output, "");
  EXPECT_TRUE(read({"import-deepspeed", "ds.json", "--"}).launch_line.empty());
  EXPECT_NE(refusal({"plan", "x.toml", "--"}).find("--: unknown option"), std::string::npos);
}

TEST(CommandLine, NamesTheNearestOptionOrAllThatACommandTakes) {
  EXPECT_EQ(refusal({"plan", "x.toml", "--rank", "2"}),
            "command line: --rank: unknown option; did you mean --ranks?");
  EXPECT_EQ(refusal({"x.toml", "--epochs=3"}),
            "command line: --epochs=3: unknown option; of zeroapp INPUT.toml they are: --dry-run");
  EXPECT_NE(refusal({"import-weights", "a", "b", "--force"}).find("they are: none"),
            std::string::npos);
}

TEST(CommandLine, UsesWhatWasTrained) {
  const CommandLine eval = read({"eval", "runs/x", "data.validation=b.txt", "--json"});
  EXPECT_EQ(eval.command, Command::eval);
  EXPECT_EQ(eval.input, "runs/x");
  EXPECT_TRUE(eval.json);
  EXPECT_EQ(eval.scores, "");
  EXPECT_EQ(read({"eval", "runs/x", "--scores", "a.tsv"}).scores, "a.tsv");
  const CommandLine line =
      read({"generate", "runs/x", "--prompt", "a b=c", "--tokens", "5", "--temperature", "0.75",
            "--top-k", "40", "--seed", "3", "--top-p", "0.9", "--repetition-penalty", "1.2",
            "--no-repeat-ngram-size", "3"});
  EXPECT_EQ(line.command, Command::generate);
  EXPECT_EQ(line.prompt, "a b=c");
  EXPECT_EQ(line.seed, 3);
  EXPECT_EQ(line.generation, (GenerationConfig{.max_new_tokens = 5,
                                               .temperature = 0.75,
                                               .top_k = 40,
                                               .top_p = 0.9,
                                               .repetition_penalty = 1.2,
                                               .no_repeat_ngram_size = 3}));
  for (const char* bad : {"-1", "101", "nan", "warm", "1x", ""}) {
    EXPECT_NE(refusal({"generate", "x", "--temperature", bad}).find("no number from 0 to 100"),
              std::string::npos)
        << bad;
  }
  EXPECT_NE(refusal({"generate"}).find("no DIR"), std::string::npos);
}

TEST(CommandLine, KeepsWhatIsWrittenOfGenerationAndNothingElse) {
  EXPECT_EQ(read({"generate", "x"}).generation, GenerationConfig());
  const auto ids = [](const char* word) {
    return read({"generate", "x", "--suppress-tokens", word}).generation.suppress_tokens;
  };
  EXPECT_EQ(ids("3,17"), (std::vector<int64_t>{3, 17}));
  EXPECT_EQ(ids(""), std::vector<int64_t>());
  for (const char* bad : {"3,x", "3,", ",3", "-1", "3 4", "2147483648"}) {
    EXPECT_NE(refusal({"generate", "x", "--suppress-tokens", bad}).find("no list of ids"),
              std::string::npos)
        << bad;
  }
  const auto end = [](const char* word) {
    return read({"generate", "x", "--early-stopping", word}).generation.early_stopping;
  };
  EXPECT_EQ(end("no"), BeamEnd::no);
  EXPECT_EQ(end("yes"), BeamEnd::yes);
  EXPECT_EQ(end("never"), BeamEnd::never);
  EXPECT_NE(refusal({"generate", "x", "--early-stopping", "true"}).find("no, yes, never"),
            std::string::npos);
}

TEST(CommandLine, WorksOnCheckpoints) {
  EXPECT_TRUE(read({"ls", "runs/x", "--quick", "--json"}).quick);
  EXPECT_EQ(read({"fsck", "runs/x"}).command, Command::fsck);
  const CommandLine alone = read({"inspect", "runs/x"}), two = read({"inspect", "a", "b=c"});
  EXPECT_EQ(alone.second, "");
  EXPECT_EQ(two.second, "b=c") << "a folder, not a setting";
  const CommandLine line = read({"export", "runs/x", "out", "--format", "hdf5", "--dtype", "bf16",
                                 "--max-shard-size", "1.5GiB"});
  EXPECT_EQ(line.command, Command::export_model);
  EXPECT_EQ(line.second, "out");
  EXPECT_EQ(line.format, "hdf5");
  EXPECT_EQ(line.dtype, "bf16");
  EXPECT_EQ(line.shard_bytes, int64_t(3) << 29);
  EXPECT_EQ(read({"export", "a", "b", "--max-shard-size", "2GB"}).shard_bytes, 2'000'000'000);
  EXPECT_EQ(read({"import-weights", "gpt2", "out"}).command, Command::import_weights);
  EXPECT_EQ(read({"score", "texts", "references", "--json"}).second, "references");
}

TEST(CommandLine, RefusesCheckpointWordsThatItDoesNotKnow) {
  EXPECT_NE(refusal({"export", "x"}).find("no OUT; write zeroapp export DIR OUT"),
            std::string::npos);
  EXPECT_NE(refusal({"import-weights"}).find("no MODEL_DIR"), std::string::npos);
  EXPECT_NE(refusal({"score", "texts"}).find("no REFERENCES"), std::string::npos);
  EXPECT_NE(refusal({"inspect", "a", "b", "c"}).find("takes A and B and no more"),
            std::string::npos);
  EXPECT_NE(refusal({"export", "x", "y", "--dtype", "int8"}).find("fp32, bf16, fp16"),
            std::string::npos);
  EXPECT_NE(refusal({"export", "x", "y", "--format", "onnx"}).find("safetensors, hdf5"),
            std::string::npos);
  for (const char* bad : {"5", "", "GB", "-1GB", "0B"}) {
    EXPECT_NE(refusal({"export", "x", "y", "--max-shard-size", bad}).find("is no size"),
              std::string::npos)
        << bad;
  }
}

TEST(CommandLine, AnswersQuestionsWithoutAnInput) {
  EXPECT_EQ(read({"--help"}).command, Command::help);
  EXPECT_EQ(read({"help"}).command, Command::help);
  EXPECT_EQ(read({"plan", "--help"}).command, Command::help);
  EXPECT_EQ(read({"--version"}).command, Command::version);
  EXPECT_TRUE(read({"--help"}).topics.empty());
  EXPECT_EQ(read({"plan", "--help"}).topics, (std::vector<std::string>{"plan"}));
  EXPECT_EQ(read({"x.toml", "-h"}).topics, (std::vector<std::string>{"train"}));
  EXPECT_EQ(read({"help", "zero.stage"}).topics, (std::vector<std::string>{"zero.stage"}));
  const CommandLine search = read({"help", "--search", "learning", "rate"});
  EXPECT_TRUE(search.search);
  EXPECT_EQ(search.topics, (std::vector<std::string>{"learning", "rate"}));
  EXPECT_EQ(read({"inputs"}).input, "");
  EXPECT_EQ(read({"inputs", "gpt2_nano"}).input, "gpt2_nano");
  EXPECT_NE(refusal({"manual"}).find("no OUT"), std::string::npos);
}

TEST(CommandLine, MeasuresAMachineAndItsDisks) {
  const CommandLine line = read({"calibrate", "--nvme", "/disk", "--out", "m.toml"});
  EXPECT_EQ(line.command, Command::calibrate);
  EXPECT_EQ(line.nvme, "/disk");
  EXPECT_EQ(line.output, "m.toml");
  EXPECT_FALSE(read({"calibrate"}).nvme.has_value());
  EXPECT_EQ(read({"doctor", "--nvme", ""}).nvme, "") << "which is another thing than none";
  EXPECT_NE(refusal({"calibrate", "--nvme"}).find("wants a value"), std::string::npos);
  EXPECT_NE(refusal({"calibrate", "run.steps=3"}).find("takes no input"), std::string::npos);
}

TEST(CommandLine, ReplaysStepsOfARun) {
  const CommandLine line =
      read({"replay", "runs/x", "--from", "4", "--to", "9", "--bisect", "zero.stage=3"});
  EXPECT_EQ(line.command, Command::replay);
  EXPECT_EQ(line.from_step, 4);
  EXPECT_EQ(line.to_step, 9);
  EXPECT_TRUE(line.bisect);
  EXPECT_EQ(line.overrides, std::vector<std::string>{"zero.stage=3"});
  EXPECT_EQ(read({"replay", "runs/x"}).from_step, -1);
  EXPECT_NE(refusal({"replay", "runs/x", "--from", "-1"}).find("--from"), std::string::npos);
  EXPECT_NE(refusal({"replay"}).find("no RUN"), std::string::npos);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refusal({}).find("no INPUT.toml"), std::string::npos);
  EXPECT_NE(refusal({"plan"}).find("zeroapp plan INPUT.toml"), std::string::npos);
  EXPECT_NE(refusal({"x.toml", "--fast"}).find("--fast"), std::string::npos);
  EXPECT_NE(refusal({"x.toml", "--ranks", "2"}).find("--ranks"), std::string::npos)
      << "training takes its ranks from the launcher";
  EXPECT_NE(refusal({"x.toml", "steps"}).find("key=value"), std::string::npos);
  EXPECT_NE(refusal({"trian", "x.toml"}).find("trian: neither a command (train, plan, "),
            std::string::npos);
  EXPECT_NE(refusal({"trian", "x.toml"}).find("did you mean train?"), std::string::npos);
  EXPECT_NE(refusal({"ls", "a", "run.steps=3"}).find("takes DIR and no more"), std::string::npos)
      << "settings without effect";
  EXPECT_NE(refusal({"plan", "x.toml", "--ranks"}).find("wants a value"), std::string::npos);
  EXPECT_NE(refusal({"plan", "x.toml", "--ranks", "0"}).find("no number of ranks"),
            std::string::npos);
  EXPECT_NE(refusal({"plan", "x.toml", "--ranks", "2x"}).find("no number of ranks"),
            std::string::npos);
}

}  // namespace
}  // namespace zero::usage
