/**
 * `countersign completion`: what makes a shell complete commands, options and their values. Made from the table
 * of commands and complete in itself: a key press starts no program.
 */

import { didYouMean, findNearest } from '../text/nearest.ts'
import { type Command, everywhere, type Option, UsageError } from './command.ts'

type Named = Pick<Command, 'name' | 'summary' | 'options'>

const shells = { bash: printBash, zsh: printZsh, fish: printFish }
const shellNames = Object.keys(shells)

const setUp = {
  bash: 'source <(countersign completion bash)     # in ~/.bashrc',
  zsh: 'source <(countersign completion zsh)      # in ~/.zshrc, after compinit',
  fish: 'countersign completion fish | source     # in ~/.config/fish/config.fish',
}

export function completionCommand(others: () => readonly Named[]): Command {
  return {
    name: 'completion',
    needs: 'nothing',
    summary: `Prints what completes commands and options in a shell: ${shellNames.join(', ')}. ${Object.values(setUp).join('; ').replaceAll(/ +/g, ' ')}.`,
    positionals: ['shell'],
    async run(_, { positional }) {
      const shell = positional('shell')
      if (!isShell(shell))
        throw new UsageError(
          `There is no completion for "${shell}", but for ${shellNames.join(', ')}.${didYouMean(findNearest(shell, shellNames))}`,
        )
      process.stdout.write(shells[shell](others()))
    },
  }
}

const isShell = (text: string): text is keyof typeof shells => Object.hasOwn(shells, text)

const optionsOf = (command: Named) => [...(command.options ?? []), ...everywhere]
const isFile = ({ value }: Option) => value === 'FILE' || value === 'FOLDER'
/** Of an option that takes one of several words. */
const choicesOf = ({ value = '' }: Option) => (/^[a-z-]+(\|[a-z-]+)+$/.test(value) ? value.split('|') : [])

/** The first word of each command, once, and what may follow it. */
function groupsOf(commands: readonly Named[]): Map<string, Named[]> {
  return Map.groupBy(commands, ({ name }) => name.split(' ')[0]!)
}

const verbOf = ({ name }: Named) => name.split(' ')[1]
const verbsOf = (members: readonly Named[]) => members.map(verbOf).filter((verb) => verb !== undefined)

/** Nothing in it has a meaning for a shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

function printBash(commands: readonly Named[]): string {
  const groups = groupsOf(commands)
  const verbs = [...groups]
    .filter(([, members]) => verbsOf(members).length > 0)
    .map(([group, members]) => `    ${group}) words=${quote(verbsOf(members).join(' '))} ;;`)
  const cases = commands.map((command) => {
    const pattern = verbOf(command) === undefined ? `'${command.name} '*` : `'${command.name}'`
    const values = optionsOf(command).flatMap((option) => {
      const choices = choicesOf(option)
      if (choices.length > 0) return [`--${option.name}) words=${quote(choices.join(' '))} ;;`]
      if (isFile(option)) return [`--${option.name}) files=yes ;;`]
      return option.value === undefined ? [] : [`--${option.name}) ;;`]
    })
    const names = optionsOf(command).map(({ name }) => `--${name}`)
    return `    ${pattern}) case $previous in ${[...values, `*) words=${quote(names.join(' '))} ;;`].join(' ')} esac ;;`
  })
  return `# bash completion for countersign
_countersign() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words= files=
  if (( COMP_CWORD == 1 )); then words=${quote([...groups.keys(), 'help', '--version'].join(' '))}
  elif (( COMP_CWORD == 2 )); then case \${COMP_WORDS[1]} in
${verbs.join('\n')}
  esac; fi
  if [[ -z $words ]]; then case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases.join('\n')}
  esac; fi
  if [[ -n $files ]]; then COMPREPLY=($(compgen -f -- "$current"))
  else COMPREPLY=($(compgen -W "$words" -- "$current")); fi
}
complete -o filenames -F _countersign countersign
`
}

function printZsh(commands: readonly Named[]): string {
  const groups = groupsOf(commands)
  const described = (name: string, words: string) => quote(`${name.replaceAll(':', '\\:')}:${firstOf(words)}`)
  const firsts = [...groups].map(([group, members]) =>
    described(group, members.length === 1 ? members[0]!.summary : verbsOf(members).join(', ')),
  )
  const verbs = [...groups]
    .filter(([, members]) => verbsOf(members).length > 0)
    .map(
      ([group, members]) =>
        `    ${group}) words_=(${members.map((each) => described(verbOf(each) ?? '', each.summary)).join(' ')}) ;;`,
    )
  const cases = commands.map((command) => {
    const pattern = verbOf(command) === undefined ? `'${command.name} '*` : `'${command.name}'`
    const values = optionsOf(command).flatMap((option) => {
      const choices = choicesOf(option)
      if (choices.length > 0)
        return [`--${option.name}) words_=(${choices.map((each) => described(each, '')).join(' ')}) ;;`]
      if (isFile(option)) return [`--${option.name}) _files; return ;;`]
      return option.value === undefined ? [] : [`--${option.name}) return ;;`]
    })
    const names = optionsOf(command).map(({ name, meaning }) => described(`--${name}`, meaning))
    return `    ${pattern}) case $previous in ${[...values, `*) words_=(${names.join(' ')}) ;;`].join(' ')} esac ;;`
  })
  return `#compdef countersign
_countersign() {
  local previous=\${words[CURRENT-1]}
  local -a words_
  if (( CURRENT == 2 )); then words_=(${firsts.join(' ')})
  elif (( CURRENT == 3 )); then case \${words[2]} in
${verbs.join('\n')}
  esac; fi
  if (( \${#words_} == 0 )); then case "\${words[2]} \${words[3]}" in
${cases.join('\n')}
  esac; fi
  _describe 'countersign' words_
}
compdef _countersign countersign
`
}

function printFish(commands: readonly Named[]): string {
  const groups = groupsOf(commands)
  const line = (condition: string, words: string, meaning: string) =>
    `complete -c countersign -n ${quote(condition)} ${words} -d ${quote(firstOf(meaning))}`
  const firsts = [...groups].map(([group, members]) =>
    line(
      '__fish_use_subcommand',
      `-a ${group}`,
      members.length === 1 ? members[0]!.summary : verbsOf(members).join(', '),
    ),
  )
  const rest = commands.flatMap((command) => {
    const [group, verb] = command.name.split(' ')
    const siblings = verbsOf(groups.get(group!)!).join(' ')
    const inGroup = `__fish_seen_subcommand_from ${group}`
    const within = verb === undefined ? inGroup : `${inGroup}; and __fish_seen_subcommand_from ${verb}`
    const verbLine =
      verb === undefined
        ? []
        : [line(`${inGroup}; and not __fish_seen_subcommand_from ${siblings}`, `-a ${verb}`, command.summary)]
    const options = optionsOf(command).map((option) => {
      const choices = choicesOf(option)
      const value =
        option.value === undefined
          ? ''
          : choices.length > 0
            ? ` -x -a ${quote(choices.join(' '))}`
            : isFile(option)
              ? ' -r -F'
              : ' -x'
      return line(within, `-l ${option.name}${value}`, option.meaning)
    })
    return [...verbLine, ...options]
  })
  return ['# fish completion for countersign', 'complete -c countersign -f', ...firsts, ...rest, ''].join(
    '\n',
  )
}

/** A menu has a line for each. */
function firstOf(text: string): string {
  return text.split('. ')[0]!.replace(/\.$/, '')
}
