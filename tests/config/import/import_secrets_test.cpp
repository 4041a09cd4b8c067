// Ranks: 1

#include "src/config/import/import_secrets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/import_deepspeed.hpp"

namespace zero {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name : {"--hub_token",
                           "--push-to-hub-token",
                           "--token",
                           "HF_TOKEN",
                           "--api_key",
                           "--wandb-api-key",
                           "WANDB_API_KEY",
                           "--openai_key",
                           "comet.api_key",
                           "--password",
                           "--db_pass",
                           "--DB_PASSWD",
                           "--client_secret",
                           "--aws_secret_access_key",
                           "--aws_access_key_id",
                           "--hubToken",
                           "--authtoken",
                           "GITHUB_PAT",
                           "--githubPAT",
                           "--HFToken",
                           "--apiKey",
                           "--api_keys",
                           "--auth_tokens",
                           "wandb_secret.value",
                           "a.api_key.b"}) {
    EXPECT_TRUE(names_secret(name)) << name;
  }
  for (const char* name : {"--pad_token", "--eos-token", "--tokenizer_name", "--max_new_tokens",
                           "--text_key", "--average_tokens_across_devices", "--key", "--pass_over",
                           "--max_tokens", "--padToken", "--eostoken", "--max_token",
                           "--bos_token_id", "--strict_compat", "--path", "", "--", "zero.stage"}) {
    EXPECT_FALSE(names_secret(name)) << name;
  }
}

TEST(Secrets, AreHiddenInTheWordsOfACommand) {
  EXPECT_THAT(hide_secrets(Words{"HF_TOKEN=hf_a", "train.py", "--hub_token", "hf_b", "--token=hf_c",
                                 "-hub_token", "hf_d", "--seed", "1"}),
              ElementsAre("HF_TOKEN=HIDDEN", "train.py", "--hub_token", "HIDDEN", "--token=HIDDEN",
                          "-hub_token", "HIDDEN", "--seed", "1"));
  EXPECT_THAT(hide_secrets(Words{"--hub_t", "hf_a", "--push-to-hub-to=hf_b", "--seed", "1"}),
              ElementsAre("--hub_t", "HIDDEN", "--push-to-hub-to=HIDDEN", "--seed", "1"))
      << "short for them";
  EXPECT_THAT(hide_secrets(Words{"--p", "0.9", "--a", "3", "--push_to", "4", "--aws", "a"}),
              ElementsAre("--p", "0.9", "--a", "3", "--push_to", "4", "--aws", "HIDDEN"))
      << "short for secrets and others, or for secrets alone";
  EXPECT_THAT(
      hide_secrets(Words{"--api_keys", "a", "b", "a.py", "--hubToken", "a", "&&", "b"}),
      ElementsAre("--api_keys", "HIDDEN", "HIDDEN", "a.py", "--hubToken", "HIDDEN", "&&", "b"));
  EXPECT_THAT(hide_secrets(Words{"--use_auth_token", "--bf16", "--password"}),
              ElementsAre("--use_auth_token", "--bf16", "--password"));
  EXPECT_THAT(hide_secrets(Words{"train.py --hub_token hf_a --seed 1", "https://me:pw@host/x@y"}),
              ElementsAre("train.py --hub_token HIDDEN --seed 1", "https://HIDDEN@host/x@y"));
}

TEST(Secrets, AreHiddenInsideAWord) {
  EXPECT_THAT(hide_secrets(Words{R"({"token":"hf_a","seed":1})", R"({"token": "a b", "seed": 1})",
                                 R"({"seed": 1, "keys": {"wandb_api_key": "a"}})"}),
              ElementsAre(R"({"token":"HIDDEN","seed":1})", R"({"token": "HIDDEN", "seed": 1})",
                          R"({"seed": 1, "keys": {"wandb_api_key": "HIDDEN"}})"));
  EXPECT_THAT(hide_secrets(Words{"https://host/x?token=a", "?sig=1&access_token=a&x=2",
                                 "--launcher_args=--token=a", "name=gpt2,token=a,dtype=half"}),
              ElementsAre("https://host/x?token=HIDDEN", "?sig=1&access_token=HIDDEN&x=2",
                          "--launcher_args=--token=HIDDEN", "name=gpt2,token=HIDDEN,dtype=half"));
  EXPECT_THAT(hide_secrets(Words{"train.py --password 'my a' --seed 1", "a.py --api_keys a b -x 1",
                                 "a.py --token=\"a --b\" --seed 1", R"({"token": ["a", "b"]})"}),
              ElementsAre("train.py --password HIDDEN --seed 1", "a.py --api_keys HIDDEN -x 1",
                          "a.py --token=HIDDEN --seed 1", R"({"token": HIDDEN)"));
  EXPECT_THAT(hide_secrets(Words{R"({"token": "", "x": "token"})", "report=token,seed",
                                 "train.py --use_auth_token --bf16", "node1:0,1@node2:0,1"}),
              ElementsAre(R"({"token": "", "x": "token"})", "report=token,seed",
                          "train.py --use_auth_token --bf16", "node1:0,1@node2:0,1"));
}

std::string everything_said(const Words& words, const std::string& json) {
  const testing_support::TempFile file("ds.json", json);
  try {
    const DeepSpeedImport made = import_deepspeed(file.path(), {.launch_line = words});
    std::string said = made.toml;
    for (const auto& lines : {made.report, made.refused, made.needs, made.launch_line}) {
      for (const std::string& line : lines) said += line + "\n";
    }
    return said;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Secrets, StandInNoReportAndNoMessage) {
  const Words launches[] = {{"train.py", "--hub_token", "S3CRET"},
                            {"train.py", "--hub_tok", "S3CRET"},
                            {"train.py", "--wandb_api_key=S3CRET"},
                            {"WANDB_API_KEY=S3CRET", "train.py"},
                            {"train.py", "--token", "\u2013S3CRET"},
                            {"train.py --password S3CRET"},
                            {"train.py --password 'my S3CRET' --seed 1"},
                            {"train.py", "--hub_kwargs", R"({"token": "hf_S3CRET"})"},
                            {"train.py", "--data_url", "https://host/x?token=S3CRET"},
                            {"train.py", "--launcher_args=--token=S3CRET"},
                            {"train.py", "--hubToken", "S3CRET", "--authtoken", "S3CRET"},
                            {"GITHUB_PAT=S3CRET", "train.py", "--api_keys", "A", "S3CRETb"},
                            {"accelerate", "launch", "--aws_secret_access_key", "S3CRET", "a.py"},
                            {"train.py", "-api_key", "S3CRET"}};
  for (const Words& words : launches) {
    EXPECT_THAT(everything_said(words, "{}"), Not(HasSubstr("S3CRET"))) << words[0];
  }
  const std::string said = everything_said(
      {}, R"({"comet": {"enabled": true, "api_key": "S3CRET"}, "wandb": {"token": 5317},
               "wandb_secret": {"value": "S3CRET"}, "urls": ["https://me:S3CRET@host"],
               "url": "https://host/x?token=S3CRET"})");
  EXPECT_THAT(said, Not(HasSubstr("S3CRET")));
  EXPECT_THAT(said, Not(HasSubstr("5317")));
  EXPECT_THAT(everything_said({"train.py", "--hub_token", "S3CRET"}, "{}"),
              HasSubstr("launch line: --hub_token = \"HIDDEN\": nothing to set"));
}

}  // namespace
}  // namespace zero
