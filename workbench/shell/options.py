"""What well-known programs call the same option, and which of their options take a value.

Data for comparing commands. A program that is not listed has no aliases, and what follows one of its options
may or may not be that option's value.
"""

from __future__ import annotations

from collections.abc import Mapping

_ALIASES = """
rm: -r -R --recursive | -f --force
cp: -r -R --recursive | -f --force
mv: -f --force
chmod: -R --recursive
chown: -R --recursive
chgrp: -R --recursive
ln: -f --force | -s --symbolic
mkdir: -p --parents
sed: -i --in-place
kill: -9 -KILL -SIGKILL
pkill: -9 -KILL -SIGKILL
killall: -9 -KILL -SIGKILL
curl: -k --insecure | -X --request
git push: -f --force | -d --delete | -n --dry-run | -u --set-upstream
git commit: -n --no-verify | -a --all | -s --signoff
git merge: -n --no-stat
git add: -A --all --no-ignore-removal | -f --force | -p --patch
git clean: -f --force
git branch: -d --delete | -f --force | -m --move
git tag: -d --delete | -f --force
git checkout: -f --force
git switch: -f --force --discard-changes | -c --create
git rebase: -i --interactive
git pull: -r --rebase | -f --force
git fetch: -f --force | -p --prune
git rm: -f --force
git stash: -u --include-untracked
npm: -g --global --location=global
npm install: -g --global --location=global | -D --save-dev | -f --force
pnpm: -g --global
pnpm add: -g --global | -D --save-dev
yarn add: -D --dev
pip install: -U --upgrade | -e --editable
docker rm: -f --force | -v --volumes
docker rmi: -f --force
docker system: -a --all | -f --force
docker compose: -v --volumes
docker-compose: -v --volumes
kubectl delete: -f --filename | -A --all-namespaces
kubectl: -A --all-namespaces
helm: -n --namespace
pytest: -x --exitfirst
cargo publish: -n --dry-run
"""

_VALUES = """
git: -C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env
git commit: -m -F -C -c -t --message --file --author --date --template --fixup --squash
git push: -o --push-option --repo --receive-pack --exec
git tag: -m -F --message --file -u
git merge: -m -s -X --message --strategy
git stash: -m --message
docker: -H -c -l --host --context --log-level --config
docker compose: -f -p --file --project-name --profile --env-file --project-directory
docker-compose: -f -p --file --project-name --profile --env-file --project-directory
kubectl: -n -s --namespace --context --kubeconfig --cluster --user --server
helm: -n --namespace --kube-context --kubeconfig
npm: --prefix -w --workspace --registry
pnpm: -C --dir --filter -F
yarn: --cwd
make: -C -f -j --directory --file
cargo: --manifest-path --config -Z
terraform: -chdir
uv: --project --directory
poetry: -C -P --directory --project
gh: -R --repo
aws: --profile --region --output
gcloud: --project --account
"""

# One dash begins a long option of these, not a cluster of short ones.
LONG_SINGLE_DASH = frozenset(
    "find java javac terraform tofu go gcc clang g++ clang++ ffmpeg openssl xcodebuild packer vault".split()
)
# These take any unambiguous beginning of a long option.
ABBREVIATING = frozenset("git rm cp mv chmod chown chgrp ln mkdir sed".split())


def _sets(table: str) -> dict[str, tuple[frozenset[str], ...]]:
    rows = (line.partition(":") for line in table.strip().splitlines())
    return {name: tuple(frozenset(group.split()) for group in groups.split("|")) for name, _, groups in rows}


_ALIAS_SETS = _sets(_ALIASES)
_VALUE_SETS = {name: groups[0] for name, groups in _sets(_VALUES).items()}


def aliases(program: str, subcommand: str, option: str) -> frozenset[str]:
    """Return all the ways to write an option of a program's subcommand, itself included."""
    for name in (f"{program} {subcommand}", program):
        for group in _ALIAS_SETS.get(name, ()):
            if option in group:
                return group
        if name in _ALIAS_SETS and name != program:
            break  # what the subcommand means by a letter is listed there
    return frozenset({option})


def value_options(program: str, subcommand: str = "") -> frozenset[str] | None:
    """Return the options that are followed by a value, None for a program that is not known."""
    own = _VALUE_SETS.get(program)
    if own is None or not subcommand:
        return own
    return own | _VALUE_SETS.get(f"{program} {subcommand}", frozenset())


_SAME: Mapping[str, Mapping[str, str]] = {
    "npm": {"i": "install", "in": "install", "add": "install", "run-script": "run", "rm": "uninstall",
            "r": "uninstall", "un": "uninstall", "remove": "uninstall", "t": "test"},
    "pnpm": {"i": "install", "rm": "remove", "un": "remove", "uninstall": "remove"},
    "git": {"stage": "add"},
}  # fmt: skip


def subcommand_name(program: str, word: str) -> str:
    """Return the full name of a subcommand: npm's `i` is `install`."""
    return _SAME.get(program, {}).get(word, word)
