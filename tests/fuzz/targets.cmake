# Every fuzz target: <name>.cpp defines LLVMFuzzerTestOneInput, which throws when something is
# wrong. FOLDERS of sources and FILES, which are patterns, are compiled with it by clang, beside
# src/base and io/files, on which all stand. SEEDS is a folder of good inputs; all are relative to
# the root of the tree. LINKS is the library of those sources in the main build. LIKE names a target
# above whose folders this one stands on too.
zero_fuzz_target(read_config FOLDERS src/config LINKS zero_config SEEDS inputs)
zero_fuzz_target(import_file LIKE read_config LINKS zero_config SEEDS tests/fixtures/deepspeed)
zero_fuzz_target(launch_line LIKE read_config LINKS zero_config SEEDS tests/fuzz/seeds/launch_line)
zero_fuzz_target(safetensors FILES io/interop/json.cpp io/interop/safetensors.cpp
                       io/interop/tensor_file.cpp LINKS zero_io
                 SEEDS tests/fuzz/seeds/safetensors)
zero_fuzz_target(torch_file FILES io/interop/json.cpp io/interop/tensor_file.cpp
                       io/interop/torch_file.cpp io/interop/torch_pickle.cpp
                       io/interop/zip_entries.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/torch_file)
zero_fuzz_target(manifest FILES io/checkpoint/manifest*.cpp io/interop/json.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/manifest)
zero_fuzz_target(shard FILES io/checkpoint/manifest*.cpp io/checkpoint/shard_reader.cpp
                       io/checkpoint/blocks.cpp io/checkpoint/folder_files.cpp io/interop/json.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/shard)
zero_fuzz_target(pairs FILES io/data/pair_file.cpp io/data/field_file.cpp io/data/data_file.cpp
                       io/data/zstd_absent.cpp io/interop/json.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/pairs)
zero_fuzz_target(labels FILES io/data/label_file.cpp io/data/label_reader.cpp io/data/field_file.cpp
                        io/data/data_file.cpp io/data/zstd_absent.cpp io/interop/json.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/labels)
set(text_files io/text/tokenizer*.cpp io/text/added_tokens.cpp io/text/byte_trie.cpp
               io/text/bpe_*.cpp io/text/unicode_*.cpp io/text/characters.cpp io/text/json_*.cpp
               io/text/nfc*.cpp io/text/word_pattern.cpp io/text/piece_tokenizer.cpp
               io/text/sentencepiece_absent.cpp io/interop/json.cpp)
zero_fuzz_target(tokenizer_settings FILES ${text_files}
                 LINKS zero_io SEEDS tests/fuzz/seeds/tokenizer_settings)
zero_fuzz_target(tokenizer_json FILES ${text_files}
                 LINKS zero_io SEEDS tests/fuzz/seeds/tokenizer_json)
zero_fuzz_target(spiece FILES io/text/sentencepiece_check.cpp io/text/piece_path.cpp
                       io/text/byte_trie.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/spiece)
# Readers of two rooms, which the commands use.
zero_fuzz_target(run_lines FILES src/report/metrics_reader.cpp src/report/rank_rows.cpp
                           src/replay/replay_records.cpp src/monitor/rank_times.cpp
                 LINKS zero_commands SEEDS tests/fuzz/seeds/run_lines)
# Its sources are those of all families of models: it has mutations alone.
zero_fuzz_target(generation_config LINKS zero_train SEEDS tests/fuzz/seeds/generation_config)
