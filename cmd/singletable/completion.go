package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
)

const completionHelp = `Usage: singletable completion bash|zsh|fish

Completion prints a script that completes commands, flags and file names in a shell. It
is made from the commands of this program: print it again after an update.

Exit codes: 0 the script was printed, 2 wrong usage.

Examples:

  source <(singletable completion bash)   # in ~/.bashrc; zsh in ~/.zshrc, after compinit
  singletable completion zsh >"${fpath[1]}/_singletable"
  singletable completion fish >~/.config/fish/completions/singletable.fish
`

// shells are those for which there is a script.
const shells = "the name of a shell: bash, zsh or fish"

func (p *program) completion(_ context.Context, args []string) error {
	fs, asJSON := flags("completion")
	rest, err := p.parse(fs, completionHelp, args, takes{1, 1, shells})
	if err != nil {
		return err
	}
	scripts := map[string]func([]completed) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	if scripts[rest[0]] == nil {
		return usageError("it takes " + shells)
	}
	script := scripts[rest[0]](completedCommands())
	if *asJSON {
		return p.printJSON(map[string]string{"shell": rest[0], "script": script})
	}
	return p.print(script)
}

// completed is what shells know of a command.
type completed struct {
	name, does string
	flags      []completedFlag
	files      bool     // an argument can be a file
	words      []string // that the argument can be
}

// completedFlag is a flag of a command.
type completedFlag struct {
	name, usage string
	value       string // what it is in the help, "" for a flag without value
	file        bool   // the value is a file
}

// completedCommands returns all commands, as their help and flags describe them.
func completedCommands() []completed {
	var all []completed
	var names []string
	for _, c := range commands() {
		fs, help := c.describe()
		done := completed{name: c.name, does: c.does}
		usage, _, _ := strings.Cut(help, "\n")
		for _, word := range strings.Fields(usage)[1:] {
			word = strings.Trim(word, "[]")
			done.files = done.files || word == "FILE" || strings.HasSuffix(word, ".json")
			if strings.Contains(word, "|") {
				done.words = strings.Split(word, "|")
			}
		}
		fs.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			done.flags = append(done.flags, completedFlag{f.Name, usage, value, value == "file"})
		})
		all = append(all, done)
		names = append(names, c.name)
	}
	return append(all, completed{name: "help", does: "tell more about a command", words: names})
}

func bashScript(all []completed) string {
	var names []string
	var cases, values strings.Builder
	for _, c := range all {
		names = append(names, c.name)
		words := strings.Join(c.words, " ")
		for _, f := range c.flags {
			words += " -" + f.name
			switch {
			case f.file:
				fmt.Fprintf(&values, "\t%s:-%s) _singletable_files \"$cur\"; return ;;\n", c.name, f.name)
			case f.value != "":
				fmt.Fprintf(&values, "\t%s:-%s) return ;;\n", c.name, f.name)
			}
		}
		files := ""
		if c.files {
			files = "; [[ $cur == -* ]] || _singletable_files \"$cur\""
		}
		fmt.Fprintf(&cases, "\t%s) words='%s'%s ;;\n", c.name, strings.TrimSpace(words), files)
	}
	return `# bash completion of singletable. Made by "singletable completion bash".

_singletable_files() {
	local file
	while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$1")
	compopt -o filenames 2>/dev/null
}

_singletable() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=''
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W '` + strings.Join(names, " ") + `' -- "$cur"))
		return
	fi
	# bash breaks words at =.
	if [[ $cur == '=' ]]; then
		cur=''
	elif [[ $prev == '=' ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	[[ $prev == --?* ]] && prev=${prev#-}
	case ${COMP_WORDS[1]}:$prev in
` + values.String() + `	esac
	case ${COMP_WORDS[1]} in
` + cases.String() + `	esac
	COMPREPLY+=($(compgen -W "$words" -- "$cur"))
}

complete -F _singletable singletable
`
}

func zshScript(all []completed) string {
	var names, cases strings.Builder
	for _, c := range all {
		fmt.Fprintf(&names, "\t\t%s\n", zshQuote(c.name+":"+c.does))
		fmt.Fprintf(&cases, "\t%s)\n\t\t_arguments", c.name)
		for _, f := range c.flags {
			spec := "-" + f.name + "[" + zshEscape(f.usage) + "]"
			if f.value != "" {
				spec = "-" + f.name + "=[" + zshEscape(f.usage) + "]:" + zshEscape(f.value) + ":"
			}
			if f.file {
				spec += "_files"
			}
			cases.WriteString(" \\\n\t\t\t" + zshQuote(spec))
		}
		switch {
		case c.files:
			cases.WriteString(" \\\n\t\t\t'*:file:_files'")
		case len(c.words) > 0:
			cases.WriteString(" \\\n\t\t\t" + zshQuote("1:argument:("+strings.Join(c.words, " ")+")"))
		default:
			cases.WriteString(" \\\n\t\t\t'*:argument:'")
		}
		cases.WriteString("\n\t\t;;\n")
	}
	return `#compdef singletable
# zsh completion of singletable. Made by "singletable completion zsh".

_singletable() {
	local -a commands
	commands=(
` + names.String() + `	)
	if ((CURRENT == 2)); then
		_describe command commands
		return
	fi
	shift words
	((CURRENT--))
	case $words[1] in
` + cases.String() + `	esac
}

if [[ $funcstack[1] == _singletable ]]; then
	_singletable "$@"
else
	compdef _singletable singletable
fi
`
}

// zshEscape escapes what has a meaning in a specification of _arguments.
func zshEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
}

// zshQuote returns the text as one word of zsh.
func zshQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func fishScript(all []completed) string {
	var b strings.Builder
	b.WriteString("# fish completion of singletable. Made by \"singletable completion fish\".\n\ncomplete -c singletable -f\n")
	for _, c := range all {
		fmt.Fprintf(&b, "complete -c singletable -n __fish_use_subcommand -a %s -d %s\n", c.name, fishQuote(c.does))
	}
	for _, c := range all {
		begin := fmt.Sprintf("complete -c singletable -n '__fish_seen_subcommand_from %s'", c.name)
		for _, f := range c.flags {
			kind := ""
			switch {
			case f.file:
				kind = " -r -F"
			case f.value != "":
				kind = " -x"
			}
			fmt.Fprintf(&b, "%s -o %s%s -d %s\n", begin, f.name, kind, fishQuote(f.usage))
		}
		if c.files {
			b.WriteString(begin + " -F\n")
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", begin, fishQuote(strings.Join(c.words, " ")))
		}
	}
	return b.String()
}

// fishQuote returns the text as one word of fish.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
