"""Completion of commands and options in shells: ``featherweight completion bash``."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for the shell, made from the parser: commands, their options, and names of built-in models."""
    commands = _commands(parser)
    if shell == "fish":
        lines = ["complete -c featherweight -f -n __fish_use_subcommand -a '" + " ".join(commands) + "'"]
        for command, (options, choices) in commands.items():
            seen = f"-n '__fish_seen_subcommand_from {command}'"
            lines += [f"complete -c featherweight {seen} -l {option[2:]}" for option in options]
            lines += [f"complete -c featherweight {seen} -a '{' '.join(choices)}'"] if choices else []
        return "\n".join(lines) + "\n"
    cases = "\n".join(
        f'    {command}) words="{" ".join([*options, *choices])}" ;;'
        for command, (options, choices) in commands.items()
    )
    loader = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return (
        f"{loader}_featherweight() {{\n"
        '  local current="${COMP_WORDS[COMP_CWORD]}" words\n'
        '  case "${COMP_WORDS[1]}" in\n'
        f"{cases}\n"
        f'    *) words="{" ".join(commands)}" ;;\n'
        "  esac\n"
        f'  [ "$COMP_CWORD" -gt 1 ] || words="{" ".join(commands)}"\n'
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))\n'
        "}\n"
        "complete -o default -F _featherweight featherweight\n"
    )


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[list[str], list[str]]]:
    """Options and choices of each command."""
    from .info import builtin_models

    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    found = {}
    for name, command in groups[0].choices.items():
        options = [text for action in command._actions for text in action.option_strings if text.startswith("--")]
        takes_model = any(action.dest == "model" for action in command._actions)
        shells = list(SHELLS) if name == "completion" else []
        found[name] = (options, builtin_models() if takes_model else shells)
    return found
