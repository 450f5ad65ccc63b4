"""Models in the local cache of the Hugging Face hub: -m ORG/NAME, and what is wrong with a cache that is not whole."""
import json
import os
import pathlib
import shutil
import unittest

from support import DATA, CommandTest, png_text

MODEL = DATA / "models/tiny-pixart-sigma"
SMALL = ("--height", "32", "--width", "32", "--no-resolution-binning", "--steps", "1")
FIRST, SECOND = "1a2b" + "0" * 36, "1a2c" + "0" * 36


class Hub(CommandTest):
    def setUp(self):
        super().setUp()
        self.hub = self.folder / "home/hub"
        self.repository = self.hub / "models--org--tiny.model"
        self.environment = {"HF_HOME": str(self.folder / "home"), "HF_HUB_CACHE": ""}

    def fill(self, commit=FIRST, ref="main"):
        """A snapshot as the hub's library writes it: links to blobs."""
        snapshot = self.repository / "snapshots" / commit
        (self.repository / "blobs").mkdir(parents=True, exist_ok=True)
        for file in sorted(path for path in MODEL.rglob("*") if path.is_file()):
            blob = self.repository / "blobs" / str(file.relative_to(MODEL)).replace("/", "-")
            shutil.copyfile(file, blob)
            link = snapshot / file.relative_to(MODEL)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(blob, link.parent))
        if ref:
            (self.repository / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
            (self.repository / "refs" / ref).write_text(commit)
        return snapshot

    def folder_of(self, model, **environment):
        out = self.succeed("inspect", model, "--json", environment={**self.environment, **environment})
        return pathlib.Path(json.loads(out)["folder"])

    def refuse(self, model, *expected, command="inspect"):
        arguments = ("inspect", model) if command == "inspect" else ("generate", "x", *SMALL, "-m", model)
        for part in expected:
            self.refused(1, part, *arguments, environment=self.environment)

    def test_names_and_revisions(self):
        first = self.fill()
        second = self.fill(SECOND, "refs/pr/1")
        self.assertEqual(self.folder_of("org/tiny.model"), first)
        for revision, expected in (("main", first), ("refs/pr/1", second), (FIRST, first), (SECOND, second), ("1a2c", second)):
            self.assertEqual(self.folder_of(f"org/tiny.model@{revision}"), expected)
        self.refuse("org/tiny.model@1a2", "no such revision")
        self.refuse("org/tiny.model@9999", "hf download org/tiny.model --revision 9999", "it has main, refs, " + FIRST)
        (self.repository / "refs/main").unlink()
        self.refuse("org/tiny.model", "has no refs/main and 2 snapshots", f"say which: org/tiny.model@{FIRST}")
        shutil.rmtree(second)
        self.assertEqual(self.folder_of("org/tiny.model"), first)
        self.assertEqual(self.folder_of(self.repository), first)

    def test_an_ambiguous_hash(self):
        self.fill("abcd1" + "0" * 35)
        self.fill("abcd2" + "0" * 35)
        self.refuse("org/tiny.model@abcd", "begins several commits")

    def test_a_picture_records_the_commit(self):
        self.fill()
        self.succeed("generate", "x", *SMALL, "-m", "org/tiny.model", "-o", "a.png", environment=self.environment)
        self.assertEqual(png_text(self.bytes_of("a.png"))["model"], f"org/tiny.model@{FIRST}")
        self.fill(SECOND)
        self.succeed("generate", "--like", "a.png", "-o", "b.png", environment=self.environment)
        self.assertEqual(self.bytes_of("a.png"), self.bytes_of("b.png"))

    def test_where_the_cache_is(self):
        snapshot = self.fill()
        places = {
            "HF_HUB_CACHE": self.folder / "one", "HF_HOME": self.folder / "two/hub",
            "XDG_CACHE_HOME": self.folder / "three/huggingface/hub", "HOME": self.folder / "four/.cache/huggingface/hub",
        }
        values = {"HF_HUB_CACHE": "one", "HF_HOME": "two", "XDG_CACHE_HOME": "three", "HOME": "four"}
        environment = {variable: str(self.folder / value) for variable, value in values.items()}
        for variable, place in places.items():
            shutil.copytree(self.hub, place, symlinks=True)
            self.assertEqual(self.folder_of("org/tiny.model", **environment), place / snapshot.relative_to(self.hub))
            self.refused(1, str(place), "inspect", "org/absent", environment=environment)
            environment[variable] = ""
        self.assertEqual(self.folder_of("org/tiny.model", HF_HOME="~/two", HOME=str(self.folder)).parts[-5], "two")
        self.refused(1, "HOME are not set", "inspect", "org/absent", environment=dict.fromkeys(values, ""))

    def test_a_local_folder_wins(self):
        self.fill()
        shutil.copytree(MODEL, self.folder / "org/tiny.model")
        self.assertEqual(self.folder_of("org/tiny.model"), pathlib.Path("org/tiny.model"))

    def test_the_cache_s_folder_is_its_snapshot(self):
        snapshot = self.fill()
        self.assertEqual(self.folder_of(self.repository), snapshot)
        self.assertEqual(self.folder_of(f"{self.repository}/"), snapshot)
        self.succeed("generate", "x", *SMALL, "-m", self.repository, "-o", "a.png")
        self.assertEqual(png_text(self.bytes_of("a.png"))["model"], str(snapshot))

    def test_what_is_not_there(self):
        self.refuse("org/tiny.model", "org/tiny.model: no such folder, and no such model in the hub cache", str(self.hub),
                    "download it: hf download org/tiny.model\n")
        self.refuse("org/tiny.model@v1.0", "hf download org/tiny.model --revision v1.0")

    def test_names_do_not_leave_the_cache(self):
        self.fill()
        shutil.copytree(MODEL, self.folder / "home/escaped")
        for name in ("../x/y", "x/..", "a/b/c", "org/tiny.model@../../../escaped", "org/tiny.model@/etc", "org/tiny.model@", "o--g/x",
                     "-o/x", "org/.x", "org/" + "x" * 97, "org/tiny.model@refs//main", "org/ti ny"):
            with self.subTest(name):
                self.refused(1, "no such folder; expected a model folder", "generate", "x", f"--model={name}", environment=self.environment)
        for text in ("../../escaped", "../" * 3 + "home/escaped", "", "x" * 100):
            (self.repository / "refs/main").write_text(text)
            self.refuse("org/tiny.model", "refs/main: expected a commit's hash")
        (self.repository / "refs/main").write_bytes(b"0" * 100_000)
        self.refuse("org/tiny.model", "refs/main: has")

    def test_links_that_lead_nowhere(self):
        self.fill()
        (self.repository / "blobs/transformer-diffusion_pytorch_model.safetensors").unlink()
        for command in ("inspect", "generate"):
            self.refuse("org/tiny.model", "transformer/diffusion_pytorch_model.safetensors: a link to "
                        "../../../blobs/transformer-diffusion_pytorch_model.safetensors, which does not exist; ", command=command)
        (self.repository / "blobs/model_index.json").unlink()
        self.refuse("org/tiny.model", "model_index.json: a link to ../../blobs/model_index.json, which does not exist; download the model again")
        os.symlink("nowhere", self.folder / "broken")
        self.refused(1, '"broken": a link to nowhere, which does not exist', "inspect", "broken")

    def test_downloads_that_are_not_complete(self):
        snapshot = self.fill()
        finish = f"finish it with hf download org/tiny.model --revision {FIRST}"
        (snapshot / "vae/config.json").unlink()
        (self.repository / "blobs/abc.incomplete").write_bytes(b"x")
        self.refuse("org/tiny.model", "vae/config.json", "(1 unfinished file in its blobs)", finish)
        (self.repository / "blobs/abc.incomplete").unlink()
        shutil.rmtree(snapshot / "vae")
        self.refuse("org/tiny.model", "vae: does not exist", "(it has no vae)", finish)
        (snapshot / "model_index.json").unlink()
        self.refuse("org/tiny.model", "has no model_index.json: the download of org/tiny.model is not complete", finish, command="generate")
        shutil.rmtree(snapshot)
        self.refuse("org/tiny.model", f"names the commit {FIRST}", "download it: hf download org/tiny.model\n")
        (self.repository / "refs/main").unlink()
        self.refuse("org/tiny.model", "has no snapshot: the download of org/tiny.model is not complete")


if __name__ == "__main__":
    unittest.main()
