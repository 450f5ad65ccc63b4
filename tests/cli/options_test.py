"""How options take their values: every option of every command, as --help lists them."""
import re
import unittest

from support import DATA, CommandTest, png_text

TINY = ("-m", DATA / "models/tiny-pixart-sigma", "--height", "32", "--width", "32", "--no-resolution-binning", "--steps", "1")
COMMANDS = ("generate", "inspect", "devices", "schedulers", "completions")


class Options(CommandTest):
    def options(self, command):
        """(short name or "", long name, whether it takes a value)"""
        found = []
        for line in self.succeed(command, "--help").split("Examples:")[0].splitlines():
            if match := re.match(r"  (?:(-\w),)?(--[a-z][a-z-]+)( [A-Z]\S*)?", line):
                found.append((match[1] or "", match[2], match[3] is not None))
        self.assertIn(("-h", "--help", False), found)
        return found

    def test_an_empty_value_does_not_take_the_next_argument(self):
        for command in COMMANDS:
            for _, name, _ in self.options(command):
                with self.subTest(command=command, option=name):
                    status, out, err = self.run_command(command, f"{name}=", "--nonesuch")
                    self.assertEqual((status, out), (2, ""), err)
                    self.assertRegex(err, r"\Aperfuse: [^\n]*\n\Z")
                    refused = err.startswith(f"perfuse: {name}: ") and "nonesuch" not in err
                    self.assertTrue(refused or 'unknown option "--nonesuch"' in err, err)

    def test_a_flag_takes_no_value(self):
        for command in COMMANDS:
            for short, name, takes_value in self.options(command):
                if takes_value:
                    continue
                with self.subTest(command=command, option=name):
                    self.refused(2, f"{name}: takes no value", command, f"{name}=true")
                    if short:
                        self.refused(2, f"{short} takes no value", command, f"{short}=true")

    def test_a_short_option_takes_no_equals_sign(self):
        for command in COMMANDS:
            for short, _, takes_value in self.options(command):
                if short and takes_value:
                    with self.subTest(command=command, option=short):
                        self.refused(2, f'write {short} "a.png"', command, f"{short}=a.png")
        self.refused(2, 'write -o "a.png"', "generate", "x", "-qo=a.png")

    def test_the_ways_to_give_a_value(self):
        for number, words in enumerate((["-o", "0.png"], ["-o1.png"], ["-qo", "2.png"], ["-qo3.png"], ["--output", "4.png"],
                                        ["--output=5.png"])):
            self.succeed("generate", "x", *TINY, *words)
            self.assertIn(f"{number}.png", self.files())
        self.succeed("generate", "x", *TINY, "--negative-prompt=-q", "-o", "a.png")
        self.assertEqual(png_text(self.bytes_of("a.png"))["negative_prompt"], "-q")
        self.succeed("generate", "x", *TINY, "--negative-prompt", "--json=", "-o", "a.png")
        self.assertEqual(png_text(self.bytes_of("a.png"))["negative_prompt"], "--json=")
        self.succeed("generate", "x", *TINY, "--negative-prompt=", "-o", "a.png")
        self.assertNotIn("negative_prompt", png_text(self.bytes_of("a.png")))

    def test_a_prompt_may_be_the_name_of_a_command(self):
        for prompt in ("inspect", "devices", "generate", "-5"):
            self.succeed("generate", prompt, *TINY, "-o", "a.png")
            self.assertEqual(png_text(self.bytes_of("a.png"))["prompt"], prompt)


if __name__ == "__main__":
    unittest.main()
