#!/usr/bin/env python3
"""cmake/unity_groups.py puts no two sources together of which one would change the other."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import unity_groups  # noqa: E402


def local(text):
    return f"namespace zero {{\nnamespace {{\n{text}\n}}  // namespace\n}}  // namespace zero\n"


class Groups(unittest.TestCase):
    def groups(self, *texts, headers=(), most=10):
        """The sizes of the groups that sources of these texts make."""
        with tempfile.TemporaryDirectory() as folder:
            unity_groups.ROOT = folder
            unity_groups.headers_of.cache_clear()
            unity_groups.names_in.cache_clear()
            unity_groups.namespaces_in.cache_clear()
            unity_groups.aliases_in.cache_clear()
            for name, text in headers:
                pathlib.Path(folder, name).write_text(text, encoding="utf-8")
            paths = []
            for number, text in enumerate(texts):
                paths.append(pathlib.Path(folder, f"{number}.cpp"))
                paths[-1].write_text(text, encoding="utf-8")
            sources = [unity_groups.Source(str(path)) for path in paths]
            return [len(group) for group in unity_groups.groups(sources, most)]

    def test_sources_without_names_in_common_are_joined_up_to_the_most(self):
        texts = [local(f"int f{n}() {{ return {n}; }}") for n in range(5)]
        self.assertEqual(self.groups(*texts), [5])
        self.assertEqual(self.groups(*texts, most=2), [2, 2, 1])

    def test_a_local_name_is_defined_once(self):
        for text in ("int f() {", "struct f {", "constexpr int e = 1, f = 2;", "using f = int;",
                     "template <class T>\nT f(T x) {", "[[noreturn]] void f(int x);", "int f[2];",
                     "const std::string f;  // which is empty"):
            self.assertEqual(self.groups(local(text), local("double f() {")), [1, 1], text)

    def test_a_local_name_is_not_seen_by_another_source_that_uses_it(self):
        defines = local("int f(int x) { return x; }")
        self.assertEqual(self.groups(defines, "int g() { return f(1); }\n"), [1, 1])
        self.assertEqual(self.groups("int g() { return zero::f(1); }\n", defines), [1, 1])

    def test_a_namespace_without_its_header_is_another(self):
        headers = (("own.hpp", "namespace zero::testing {\nint f();\n}  // namespace\n"),)
        has = '#include "own.hpp"\nint g() { return testing::f(); }\n'
        for text in (local("using testing::Not;"), "int h() { return testing::k(); }\n"):
            self.assertEqual(self.groups(has, text, headers=headers), [1, 1], text)
            self.assertEqual(self.groups(text, has, headers=headers), [1, 1], text)
            other = text.replace("testing::", "::testing::")
            self.assertEqual(self.groups(has, other, headers=headers), [2], other)
        self.assertEqual(self.groups(has, has.replace("g()", "h()"), headers=headers), [2])

    def test_an_alias_may_stand_in_a_header_that_another_source_includes(self):
        headers = (("own.hpp", "using testing::Not;\n"),)
        has = '#include "own.hpp"\nint g() { return f(Not(1)); }\n'
        for text, joined in (("using ::testing::Not;", [2]), ("using other::Not;", [1, 1])):
            self.assertEqual(self.groups(has, local(text), headers=headers), joined, text)
            self.assertEqual(self.groups(local(text), has, headers=headers), joined, text)

    def test_namespaces_that_stand_in_one_another_are_seen(self):
        headers = (("own.hpp", "namespace zero {\nnamespace testing {\nint f();\n}\n}\n"),)
        has = '#include "own.hpp"\nint g() { return testing::f(); }\n'
        other = "int h() { return testing::k() + zero::m(); }\n"
        self.assertEqual(self.groups(has, other, headers=headers), [1, 1])
        self.assertEqual(self.groups(has, "int h() { return zero::m(); }\n", headers=headers), [2])

    def test_namespaces_of_one_last_name_are_two(self):
        headers = (("own.hpp", "namespace zero::testing {\nint f();\n}  // namespace\n"),
                   ("other.hpp", "namespace zero::graph::testing {\nint g();\n}  // namespace\n"))
        one = '#include "own.hpp"\nint h() { return testing::f(); }\n'
        two = '#include "other.hpp"\nint k() { return testing::g(); }\n'
        self.assertEqual(self.groups(one, two, headers=headers), [1, 1])

    def test_aligned_things_have_the_names_behind(self):
        for text in ("struct alignas(sizeof(int) * 2) f { int y(int a) const; };",
                     "alignas(16) char f[64];"):
            self.assertEqual(self.groups(local(text), local("double f() {")), [1, 1], text)
            self.assertEqual(self.groups(local(text), local("alignas(8) int x;")), [2], text)

    def test_literals_may_be_opened_in_one_and_another_namespace_may_not(self):
        plain = local("int g() { return 1; }")
        literals = "using namespace std::chrono_literals;\n" + local("int f() { return 2; }")
        self.assertEqual(self.groups(plain, literals), [2])
        self.assertEqual(self.groups(plain, literals.replace("std::chrono_literals", "other")),
                         [1, 1])

    def test_who_goes_with_few_others_chooses_first(self):
        # The first two would stand together, and the others each alone.
        texts = (local("int a;"), local("int c;"), local("int a, b;"), local("int b, c;"))
        self.assertEqual(self.groups(*texts), [2, 2])

    def test_members_names_of_std_comments_and_texts_are_no_use(self):
        defines = local("int f(int x) { return x; }")
        for use in ("int g() { return a.f() + b->f(); }", "auto g = std::f();", "int g;  // f()",
                    'auto g = "f";', "/* f */ int g;"):
            self.assertEqual(self.groups(defines, use + "\n"), [2], use)

    def test_what_one_opens_for_all_behind_it_the_others_open_too(self):
        opens, other = "using namespace testing;\nint g();\n", "int h();\n"
        self.assertEqual(self.groups(opens, opens), [2])
        self.assertEqual(self.groups(opens, other), [1, 1])

    def test_what_all_can_see_anyway_does_not_part(self):
        self.assertEqual(self.groups("int f() {\n}\n", "int g() { return f(); }\n"), [2])

    def test_the_same_alias_may_stand_twice_and_no_other(self):
        one, other = local("using Words = std::vector<int>;"), local("using Words = std::set<int>;")
        self.assertEqual(self.groups(one, one), [2])
        self.assertEqual(self.groups(one, other), [1, 1])
        using = "using ::testing::HasSubstr;\n"
        self.assertEqual(self.groups(using, using, "auto g = testing::HasSubstr(1);\n"), [3])
        self.assertEqual(self.groups(using, "int HasSubstr();\n"), [1, 1])

    def test_a_macro_stays_where_it_is(self):
        self.assertEqual(self.groups("#define CALL(x) x\n", "int g = CALL(1);\n"), [1, 1])

    def test_a_header_brings_no_name_to_a_source_that_has_one_of_its_own(self):
        headers = [("a.hpp", '#include "b.hpp"\n'), ("b.hpp", "inline constexpr int kMost = 1;\n"),
                   ("c.hpp", "namespace c {\nextern int kMost;\n}  // namespace c\n")]
        includes, own = '#include "a.hpp"\nint g;\n', local("constexpr int kMost = 2;")
        self.assertEqual(self.groups(includes, '#include "c.hpp"\n' + own, headers=headers), [1, 1])
        self.assertEqual(self.groups(includes, own, headers=headers), [1, 1])
        self.assertEqual(self.groups(includes, local("int a;"), headers=headers), [2])


if __name__ == "__main__":
    unittest.main()
