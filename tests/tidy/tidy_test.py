#!/usr/bin/env python3
"""Every rule finds what it is for, at the right line, and lets the good neighbour pass."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import base_calls
import figures
import language
import layers
import mirrors
import shape
import tidy
import words
from source import Source, cpp_functions, strip_cpp

ONCE = "#pragma once\n"
KOKKOS = "#include <Kokkos_Core.hpp>\n"
RUN_CONFIG = """struct AConfig {
  int depth = 1;
};
struct RunConfig {
  AConfig a;
  int top;
};
"""
WORDS = "include/zero/base/words.hpp"
COUNTED = (ONCE + "struct Counter {};\n"
           "inline std::string counted(int64_t number) {\n  return text(number);\n}\n")
READS_WORDS = '#include "zero/base/words.hpp"\n'
CALLS = "void f() {\n  say(counted(2));\n}\n"
PLAIN = "// Returns the rank.\n\n"
KINDS = "extern const Operation kMix,\n    kMixGrad;  ///< of two\n"


def long_function(lines):
    return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"


def nested(depth):
    return "void f() {\n" + "if (x) {\n" * depth + "}\n" * depth + "}\n"


# rule, the tree as {path: text}, where it must be found; None: nothing may be found.
CASES = (
    (layers.edges, {"src/graph/a.cpp": '\n#include "zero/plan/plan.hpp"\n'}, "src/graph/a.cpp:2"),
    (layers.edges, {"src/plan/a.cpp": '\n#include "zero/graph/graph.hpp"\n'}, None),
    (layers.edges, {"io/a.cpp": '#include "zero/comm/backends.hpp"\n'}, "io/a.cpp:1"),
    (layers.edges, {"src/config/a.cpp": '#include "zero/device/stream.hpp"\n'},
     "src/config/a.cpp:1"),
    (layers.edges, {"kernels/a.cpp": '#include "zero/device/space.hpp"\n'}, None),
    (layers.edges, {"src/base/a.cpp": '#include "zero/device/space.hpp"\n'}, "src/base/a.cpp:1"),
    (layers.contracts, {"kernels/a.cpp": '#include "src/device/x.hpp"\n'}, "kernels/a.cpp:1"),
    (layers.contracts, {"src/device/a.cpp": '#include "src/device/x.hpp"\n'}, None),
    (layers.contracts, {"include/zero/run/a.hpp": ONCE,
                        "src/run/a.cpp": '#include "zero/run/a.hpp"\n'},
     "include/zero/run/a.hpp:1"),
    (layers.contracts, {"include/zero/run/a.hpp": ONCE,
                        "src/state/a.cpp": '#include "zero/run/a.hpp"\n'}, None),
    (layers.edges, {"src/run/a.cpp": '#include "bound.hpp"\n'}, "src/run/a.cpp:1"),
    (layers.edges, {"src/attic/a.cpp": "int x;\n"}, "src/attic/a.cpp:1"),
    (layers.edges, {"src/main.cpp": '#include "src/commands/commands.hpp"\n'}, None),
    (layers.vendor_headers, {"include/zero/run/a.hpp": ONCE + KOKKOS}, "include/zero/run/a.hpp:2"),
    (layers.vendor_headers, {"src/run/a.cpp": KOKKOS, "src/run/a.hpp": KOKKOS}, None),
    (layers.vendor_headers, {"src/plan/a.cpp": "#include <mpi.h>\n"}, "src/plan/a.cpp:1"),
    (layers.vendor_headers, {"include/zero/device/space.hpp": KOKKOS,
                             "src/plan/a.cpp": '#include "zero/device/space.hpp"\n'},
     "src/plan/a.cpp:1"),
    (layers.own_header_first, {"include/zero/run/a.hpp": ONCE,
                               "src/run/a.cpp": '#include <span>\n#include "zero/run/a.hpp"\n'},
     "src/run/a.cpp:1"),
    (layers.own_header_first, {"include/zero/kernels/a.hpp": ONCE,
                               "kernels/a.cpp": '#include "zero/kernels/a.hpp"\n'}, None),
    (layers.reached, {"include/zero/run/a.hpp": ONCE}, "include/zero/run/a.hpp:1"),
    (layers.reached, {"include/zero/run/a.hpp": ONCE,
                      "tests/run/a_test.cpp": '#include "zero/run/a.hpp"\n'}, None),
    (base_calls.base_is_included, {WORDS: COUNTED, "src/run/a.cpp": "\n" + CALLS},
     "src/run/a.cpp:3"),
    (base_calls.base_is_included, {WORDS: COUNTED, "src/run/a.hpp": READS_WORDS,
                                   "src/run/a.cpp": '#include "src/run/a.hpp"\n' + CALLS}, None),
    (base_calls.base_is_included, {WORDS: COUNTED, "src/run/b.cpp": READS_WORDS,
                                   "src/run/a.cpp": CALLS}, "src/run/a.cpp:2"),
    (base_calls.base_is_included, {WORDS: COUNTED,
                                   "src/run/a.cpp": "int counted(int a);\n" + CALLS}, None),
    (base_calls.base_is_included, {WORDS: COUNTED, "src/run/a.hpp": "struct A {\n"
                                   "  int counted(int a);\n};\n",
                                   "src/run/a.cpp": '#include "src/run/a.hpp"\n' + CALLS}, None),
    (base_calls.base_is_included, {WORDS: COUNTED, "src/run/a.cpp": "int a = b.counted(2);"}, None),
    (base_calls.base_is_included, {WORDS: COUNTED, "tests/run/a.cpp": "Counter a;"},
     "tests/run/a.cpp:1"),
    (base_calls.base_is_included, {WORDS: COUNTED, "src/run/a.hpp": "struct Counter {};\n",
                                   "src/run/a.cpp": '#include "src/run/a.hpp"\nCounter a;'}, None),
    (shape.file_lengths, {"src/run/a.cpp": "\n" * 401}, "src/run/a.cpp:401"),
    (shape.file_lengths, {"src/run/a.cpp": "\n" * 400}, None),
    (shape.line_lengths, {"src/run/a.cpp": "\n" + "x" * 101}, "src/run/a.cpp:2"),
    (shape.line_lengths, {"src/run/a.cpp": "x" * 100}, None),
    (shape.function_shapes, {"src/run/a.cpp": "\n" + long_function(61)}, "src/run/a.cpp:2"),
    (shape.function_shapes, {"src/run/a.cpp": long_function(60)}, None),
    (shape.function_shapes, {"src/run/a.cpp": nested(4)}, "src/run/a.cpp:1"),
    (shape.function_shapes, {"src/run/a.cpp": nested(3)}, None),
    (shape.guides, {"src/run/a.cpp": ""}, "src/run/README.md:1"),
    (shape.guides, {"src/run/a.cpp": "", "src/run/README.md": "\n" * 41}, "src/run/README.md:41"),
    (shape.guides, {"io/aio/a.cpp": "", "io/README.md": "\n" * 41}, "io/README.md:41"),
    (shape.guides, {"io/aio/a.cpp": "", "io/README.md": "\n" * 40}, None),
    (shape.guide_columns, {"doc/a.md": "x" * 101}, "doc/a.md:1"),
    (shape.guide_columns, {"doc/a.md": "|" + "x" * 100 + "\n```\n" + "x" * 101 + "\n```\n"}, None),
    (mirrors.guides_name_files, {"doc/a.md": "see `gone.cpp`"}, "doc/a.md:1"),
    (mirrors.guides_name_files, {"doc/a.md": "src/run/gone.hpp"}, "doc/a.md:1"),
    (mirrors.guides_name_files, {"doc/a.md": "`src/old/b.cpp`", "src/run/b.cpp": ""}, "doc/a.md:1"),
    (mirrors.guides_name_files, {"doc/a.md": "`run/b.cpp`, a `x_a.cpp`",
                                 "src/run/b.cpp": ""}, None),
    (figures.rooms_are_small, {"src/run/a.cpp": "int x;\n" * 3301}, "src/run:1"),
    (figures.rooms_are_small, {"src/run/a.cpp": "int x;\n// why\n" * 3300}, None),
    (language.comments_have_heads, {"src/attic/a.cpp": PLAIN + "\n// What a rank holds.\n"},
     "src/attic:1"),
    (language.comments_have_heads, {"src/attic/a.cpp": PLAIN * 40 + "\n// What a rank holds.\n"},
     None),
    (language.headers_are_terse, {"include/zero/attic/a.hpp": ONCE + "/// " + "word " * 13 + "\n"},
     "include/zero/attic:1"),
    (language.headers_are_terse, {"include/zero/attic/a.hpp": ONCE + "/// " + "word " * 12 + "\n",
                                  "src/attic/a.hpp": ONCE + "/// " + "word " * 99 + "\n"}, None),
    (language.pages_are_short, {"doc/a.md": "# A\n\n" + "word " * 21 + "\n"}, "doc:1"),
    (language.pages_are_short, {"doc/a.md": "word " * 20 + "\n| " + "word " * 99 + "|\n```\n" +
                                            "word " * 99 + "\n```\n- " + "word " * 20}, None),
    (language.pages_are_short, {f"doc/a{i}.md": "word\n" for i in range(21)}, "doc:1"),
    (language.changelog_is_short, {language.CHANGELOG: "word " * 601}, "CHANGELOG.md:1"),
    (language.changelog_is_short, {language.CHANGELOG: "word " * 600}, None),
    (mirrors.links_lead_somewhere, {"README.md": "[a](doc/a.md)\n[b](doc/b.md)",
                                    "doc/a.md": ""}, "README.md:2"),
    (mirrors.links_lead_somewhere, {"doc/a.md": "[up](../README.md#x)", "README.md": "x"},
     "doc/a.md:1"),
    (mirrors.links_lead_somewhere, {"README.md": "[a](doc/a.md)", "doc/a.md": "[b](https://c)"},
     None),
    (shape.conditions, {"src/run/a.cpp": "#ifdef A\n#endif\n" * 13}, "src/run/a.cpp:25"),
    (shape.conditions, {"src/run/a.cpp": "#ifdef A\n#endif\n" * 12}, None),
    (shape.conditions, {"src/run/a.cpp": "void f() {\n#ifdef A\n#endif\n}\n"}, "src/run/a.cpp:2"),
    (shape.header_guards, {"src/run/a.hpp": "int x;\n"}, "src/run/a.hpp:1"),
    (shape.header_guards, {"src/run/a.hpp": ONCE}, None),
    (words.pairs_stay_in_their_rooms, {f"src/run/{i}.cpp": "// a pair\n" for i in range(10, 23)},
     "src/run/22.cpp:1"),
    (words.pairs_stay_in_their_rooms, {f"src/run/{i}.cpp": "LengthPair a;\n" for i in range(12)} |
     {"src/model/a.cpp": "// pairs", "src/plan/a.cpp": "FormPair a;",
      "src/run/a.cpp": "std::pair a; repair();"}, None),
    (words.sentences_have_subjects, {"src/run/a.cpp": "\n// One.\n// Who" "se bytes these are.\n"},
     "src/run/a.cpp:3"),
    (words.sentences_have_subjects, {"src/run/a.cpp": "int x;  ///< one? Tho" "se of a rank\n"},
     "src/run/a.cpp:1"),
    (words.sentences_have_subjects, {"src/run/a.cpp": "\n\n  // As it is. O" "f b\n"},
     "src/run/a.cpp:3"),
    (words.sentences_have_subjects, {"src/run/a.cpp": "// Knows who. That is one: of b,\n"
                                                      "// those of c\n// who wait.\n"}, None),
    (words.operations_stay_in_their_files,
     {words.OPERATIONS: KINDS, "src/plan/a.cpp": "\n\nbool b = op.kind == &graph::kMix;\n"},
     "src/plan/a.cpp:3"),
    (words.operations_stay_in_their_files,
     {words.OPERATIONS: KINDS, "src/graph/fuse.cpp": "bool b = op.kind == &kMixGrad;\n"},
     "src/graph/fuse.cpp:1"),
    (words.operations_stay_in_their_files,
     {words.OPERATIONS: KINDS, "src/graph/ops/mix.cpp": "const Operation kMix{};\n",
      "src/plan/a.cpp": "// kMix\nint kMixer = 3;\n", "tests/run/a_test.cpp": "&kMix;\n"}, None),
    (mirrors.tests_have_sources, {"tests/run/a_test.cpp": ""}, "tests/run/a_test.cpp:1"),
    (mirrors.tests_have_sources, {"tests/io/aio/a_test.cpp": "",
                                  "include/zero/io/aio/a.hpp": ONCE}, None),
    (mirrors.tests_have_sources, {"tests/kernels/support/a_test.cpp": "",
                                  "kernels/support/a.hpp": ONCE}, None),
    (mirrors.tests_have_sources, {"tests/run/a_test.cpp": "", "src/run/a.cpp": ""}, None),
    (mirrors.tests_have_sources, {"tests/runs/whole_test.cpp": ""}, None),
    (mirrors.campaigns_have_programs, {mirrors.CAMPAIGNS: "a | b | python3 perf/a.py\n"},
     f"{mirrors.CAMPAIGNS}:1"),
    (mirrors.campaigns_have_programs,
     {mirrors.CAMPAIGNS: "# a\na | b | build/host-release/perf/perf_io_old_disk\n"},
     f"{mirrors.CAMPAIGNS}:2"),
    (mirrors.campaigns_have_programs,
     {mirrors.CAMPAIGNS: "a | b | perf/perf_io_a_b && c --target fuzz_d && tools/e.sh\n",
      "perf/io/a_b_bench.cpp": "", "tests/fuzz/d.cpp": "", "tools/e.sh": ""}, None),
    (mirrors.scripts_can_be_started, {"perf/a.py": "#!/usr/bin/env python3\n"}, "perf/a.py:1"),
    (mirrors.scripts_can_be_started, {"perf/a.py": "import b\n", "tests/runs/a.py": "#!x\n"}, None),
    (mirrors.promises_are_shown, {mirrors.PROMISES: "| a | plan/b; **c**, runs.d, io/* (e/f) |\n",
                                  "tests/plan/b_test.cpp": "", mirrors.CAMPAIGNS: "c | d | e\n",
                                  mirrors.STARTED: "zero_test_program(d 1)\n"}, None),
    (mirrors.promises_are_shown, {mirrors.PROMISES: "| promise | by |\n| a | plan/b |\n"},
     f"{mirrors.PROMISES}:2"),
    (mirrors.promises_are_shown, {mirrors.PROMISES: "| a | b |\n| a | **c** |\n",
                                  mirrors.CAMPAIGNS: "c | d | e\n"}, f"{mirrors.PROMISES}:2"),
    (mirrors.keys_have_lines, {mirrors.CONFIG: RUN_CONFIG,
                               mirrors.REFERENCE: "top = 1\n[b]\ndepth = 1"},
     f"{mirrors.CONFIG}:2"),
    (mirrors.keys_have_lines, {mirrors.CONFIG: RUN_CONFIG, mirrors.REFERENCE: "[a]\ndepth = 1\n"},
     f"{mirrors.CONFIG}:6"),
    (mirrors.keys_have_lines, {mirrors.CONFIG: RUN_CONFIG,
                               mirrors.REFERENCE: "# top = 1\n[a]\ndepth = 1\n"}, None),
    (mirrors.keys_have_lines, {mirrors.CONFIG: RUN_CONFIG}, f"{mirrors.REFERENCE}:1"),
    (mirrors.keys_have_lines, {mirrors.CONFIG: RUN_CONFIG.replace("a;", "a;  ///< [c]"),
                               mirrors.REFERENCE: "top = 1\n[c]\ndepth = 1\n"}, None),
    (mirrors.keys_have_lines, {mirrors.CONFIG: RUN_CONFIG.replace("a;", "a;  ///< [c]"),
                               mirrors.REFERENCE: "top = 1\n[a]\ndepth = 1\n"},
     f"{mirrors.CONFIG}:2"),
)

# A line of src/run/a.cpp that may not stand there, and a neighbour that may.
WORD_CASES = (
    ("// TO" "DO later", "// to do what it says"),
    ("// a ha" "ck", "// hackney carriages"),
    ("// Autho" "r: me", "// the author of a text"),
    ("// since 2024" "-01-31", "// 2024 elements"),
    ("// runs in a sand" "box", "// a box of sand"),
    ("  assert(n > 0);", "  static_assert(n > 0);"),
    ("  exit(3);", "  return error.exit();"),
    ("  std::_Exit(3);", "  Exit exit() const;"),
    ("  std::abort();", "  group.abort();"),
    ("  auto* p = new int[3];", "  // a new one"),
    ("/// O" "f every rank.", "/// Bytes of every rank."),
    ("int x;  ///< O" "f a rank", "int x;  ///< of a rank"),
    ("  model::Gpt2 model;", "  model::Architecture model;"),
    ("// as a block of T5", "// not of set5 or t500"),
    ('#pragma GCC optimize("fast-mat' 'h")', '// never -ffast-mat' 'h'),
)


def found_in(rule, tree):
    sources = [Source(path, text) for path, text in sorted(tree.items())]
    return [f"{path}:{line}" for path, line, _ in rule(sources)]


class Rules(unittest.TestCase):
    def test_each_case_is_found_where_it_is_and_nothing_else(self):
        for rule, tree, where in CASES:
            with self.subTest(rule=rule.__name__, tree=sorted(tree), where=where):
                self.assertEqual(sorted(set(found_in(rule, tree))), [where] if where else [])

    def test_each_forbidden_word_is_found_and_its_neighbour_is_not(self):
        for bad, good in WORD_CASES:
            with self.subTest(bad=bad):
                bad_tree, good_tree = {"src/run/a.cpp": "\n" + bad}, {"src/run/a.cpp": good}
                self.assertEqual(found_in(words.forbidden_words, bad_tree), ["src/run/a.cpp:2"])
                self.assertEqual(found_in(words.forbidden_words, good_tree), [])

    def test_exit_may_stand_in_main_and_comments_of_cmake_may_name_flags(self):
        for path in ("src/main.cpp", "src/launch/session.cpp"):
            self.assertEqual(found_in(words.forbidden_words, {path: "  exit(3);"}), [])
        flag = "-ffast-mat" "h"
        self.assertEqual(found_in(words.forbidden_words, {"a.cmake": f"# never {flag}"}), [])
        self.assertEqual(found_in(words.forbidden_words, {"a.cmake": f"x({flag})"}), ["a.cmake:1"])

    def test_a_family_has_its_name_in_its_room_in_tests_and_in_docs(self):
        for path in ("src/model/gpt2.cpp", "include/zero/model/family.hpp", "tests/run/a_test.cpp",
                     "src/run/README.md"):
            self.assertEqual(found_in(words.forbidden_words, {path: "// a GPT-2"}), [], path)
        for name, found in (("DebertaV2Tokenizer", []), ("deberta", ["src/run/a.cpp:1"])):
            self.assertEqual(found_in(words.forbidden_words, {"src/run/a.cpp": f"// {name}"}),
                             found)

    def test_a_column_has_its_name_where_families_and_kinds_of_data_are(self):
        for path, found in (("src/model/a.cpp", []), ("io/data/a.cpp", []),
                            ("src/train/a.cpp", ["src/train/a.cpp:1"])):
            self.assertEqual(found_in(words.forbidden_words, {path: 'plan.input(0, "targets");'}),
                             found)

    def test_every_rule_has_a_case_that_it_fails(self):
        elsewhere = {words.forbidden_words}
        failed = {rule for rule, _, where in CASES if where} | elsewhere
        self.assertEqual(set(tidy.RULES) - failed, set())

    def test_layout_is_checked_where_the_formatter_is_installed(self):
        if not mirrors.clang_format():
            self.skipTest("clang-format 14 is not installed")
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / ".clang-format").write_text("BasedOnStyle: Google\n")
            (pathlib.Path(root) / "a.cpp").write_text("int good;\n")
            (pathlib.Path(root) / "b.cpp").write_text("int good;\nint   bad ;\n")
            sources = [Source("a.cpp", ""), Source("b.cpp", "")]
            found = [(path, line) for path, line, _ in mirrors.layout(sources, root)]
            self.assertEqual(found, [("b.cpp", 2)])


class Language(unittest.TestCase):
    def test_a_comment_is_a_run_of_lines_or_stands_behind_a_member(self):
        text = ("// One\n// comment\n\n/// Two\nint a;  ///< three,\n        ///< in two lines\n"
                "int b;  // not counted\nchar c[] = \"// nor this\";\n/// four\n")
        self.assertEqual(language.comments(Source("src/run/a.cpp", text)),
                         [["One", "comment"], ["Two"], ["three,", "in two lines"], ["four"]])

    def test_a_sentence_ends_at_a_full_stop_or_with_its_paragraph(self):
        text = "# Three words here\n\nOne two. **Three\nfour.** Five\n\n- six - x\n"
        self.assertEqual(language.page_lengths([Source("doc/a.md", text)]), [2, 2, 1, 2])

    def test_the_figures_are_one_line(self):
        tree = {"src/attic/a.cpp": "// What it is.\n", "doc/a.md": "Two words.\n"}
        (line,) = language.table([Source(path, text) for path, text in tree.items()])
        self.assertIn("100.0 % of 1 comments are headless (attic 100.0)", line)
        self.assertIn("2.0 in doc/; 1 pages of 2 words", line)


class Scanner(unittest.TestCase):
    def names(self, text):
        return [f.name for f in cpp_functions(strip_cpp(text))]

    def test_braces_in_comments_literals_and_macros_do_not_count(self):
        text = "#define A { \\\n {\nvoid f() { g('{', \"{\"); } // {\n/* { */ void h() {}\n"
        self.assertEqual(self.names(text), ["f", "h"])

    def test_constructors_operators_lambdas_and_tests_are_functions(self):
        text = ("struct S {\n  S() : a_{1}, b_(2) { go(); }\n  S(int n) : a_(n), b_{n} {}\n"
                "  S& operator=(const S&) { return x; }\n};\n"
                "const auto k = [](int a) { return a; };\nTEST(Suite, Name) {\n}\n")
        self.assertEqual(self.names(text), ["S", "S", "operator=", "lambda", "TEST"])

    def test_tables_types_and_namespaces_are_not(self):
        text = ("namespace a::b {\nenum class E : int { x };\nstruct alignas(64) P : Q<int> {};\n"
                "const T kTable[] = {{f(1), 2}, {3, 4}};\nint x{f(3)};\n}\n")
        self.assertEqual(self.names(text), [])

    def test_a_function_reaches_from_its_first_line_to_its_last_brace(self):
        (function,) = cpp_functions("\ntemplate <class T>\nvoid f(T a,\n       T b) {\n}\n")
        self.assertEqual((function.first, function.last), (2, 5))


class Ignored(unittest.TestCase):
    def test_a_link_to_dependencies_is_as_their_folder(self):
        rules = pathlib.Path(__file__).resolve().parents[2] / ".gitignore"
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(rules, folder)
            pathlib.Path(folder, ".deps").symlink_to("/")
            subprocess.run(["git", "init", "-q", folder], check=True)
            said = subprocess.run(["git", "-C", folder, "check-ignore", ".deps"], check=False,
                                  capture_output=True, text=True)
        self.assertEqual(said.stdout, ".deps\n")


if __name__ == "__main__":
    unittest.main()
