"""inspect, devices, schedulers, completions, help; and that help, manual and completions agree."""
import json
import re
import shutil
import subprocess
import unittest

from support import MODEL, PROGRAM, ROOT, CommandTest


class Commands(CommandTest):
    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version"), r"\Aperfuse \d+\.\d+\.\d+\n\Z")
        self.assertIn("perfuse generate", self.succeed("--help"))
        self.assertIn("Examples:", self.succeed("generate", "--help"))

    def test_devices(self):
        text = self.succeed("devices")
        found = json.loads(self.succeed("devices", "--json"))["devices"]
        self.assertEqual([d["kind"] for d in found], ["cpu", "cuda", "rocm", "xpu", "tpu", "mps", "mlu", "neuron"])
        for device in found:
            self.assertIn(device["kind"], text)
            self.assertEqual(device["reason"] == "", device["usable"])
        self.assertTrue(found[0]["usable"])

    def test_schedulers(self):
        names = self.succeed("schedulers").split()
        self.assertIn("DPMSolverMultistepScheduler", names)
        self.assertIn("EulerDiscreteScheduler", names)
        self.assertEqual(names[names.index("EulerDiscreteScheduler") + 1], "euler")
        help_text = " ".join(self.succeed("generate", "--help").split())
        for name in names:  # each of them draws, and help has it
            self.assertIn(name, help_text)
            self.succeed("generate", "a cat", "-o", "a.png", "--scheduler", name, "--steps", "1")

    def test_inspect(self):
        text = self.succeed("inspect", MODEL)
        found = json.loads(self.succeed("inspect", "--json"))
        self.assertEqual(found["pipeline"], "PixArtSigmaPipeline")
        components = {c["name"]: c for c in found["components"]}
        for name in ("text_encoder", "transformer", "vae"):
            self.assertIn(name, text)
            self.assertGreater(components[name]["parameters"], 100_000)
            self.assertEqual(components[name]["types"], ["f16"])
        large = json.loads(self.succeed("inspect", "--json", "--height", "512", "--width", "512"))
        self.assertGreater(large["memory_needed_bytes"], found["memory_needed_bytes"])

    def test_graphs(self):
        for component in ("text_encoder", "transformer", "vae"):
            self.assertIn("linear" if component != "vae" else "conv2d", self.succeed("inspect", "--graph", component))
        dot = self.succeed("inspect", "--graph", "vae", "--format", "dot")
        self.assertRegex(dot, r"\Adigraph ")
        self.assertEqual(dot.count("{"), dot.count("}"))
        self.refused(2, "transformer", "inspect", "--graph", "transfomer")


class Documentation(CommandTest):
    COMMANDS = ("generate", "inspect", "devices")

    def options(self, command):
        names = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.succeed(command, "--help").split("Examples:")[0]))
        self.assertIn("--json", names)
        return names - {"--help"}

    def test_manual_page_and_completions_know_every_option(self):
        manual = (ROOT / "docs/man/perfuse.1").read_text().replace("\\-", "-")
        for command in self.COMMANDS:
            for name in self.options(command):
                with self.subTest(command=command, option=name):
                    self.assertIn(name, manual)
                    self.assertIn(name, self.succeed("completions", "bash"))
                    self.assertIn(name, self.succeed("completions", "zsh"))
                    self.assertIn(f"-l {name[2:]} ", self.succeed("completions", "fish"))

    def test_completions_are_the_installed_files(self):
        for shell, file in (("bash", "perfuse.bash"), ("zsh", "_perfuse"), ("fish", "perfuse.fish")):
            self.assertEqual(self.succeed("completions", shell), (ROOT / "apps/cli/completions" / file).read_text())

    def test_bash_completes(self):
        def complete(*words):
            script = f'source "{ROOT}/apps/cli/completions/perfuse.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' \
                     'complete() { :; }; _perfuse; printf "%s\\n" "${COMPREPLY[@]}"'
            return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True).stdout.split()

        self.assertEqual(complete("perfuse", "gen"), ["generate"])
        self.assertEqual(complete("perfuse", "generate", "--gran"), ["--granularity"])
        self.assertEqual(complete("perfuse", "generate", "--granularity", "b"), ["block"])
        self.assertIn("EulerDiscreteScheduler", complete(PROGRAM, "generate", "--scheduler", "Euler"))


if __name__ == "__main__":
    unittest.main()
