#include "src/usage/completions.hpp"

#include <algorithm>
#include <map>

#include "src/usage/command_table.hpp"
#include "zero/base/error.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::usage {
namespace {

constexpr const char* kFiles = "@files";  // stands for files among the words of a list

/// A list of words for each pattern of names, as a function of a shell.
struct WordTable {
  std::string function;
  std::vector<std::pair<std::string, std::string>> rows;  ///< names and words, between blanks
};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

WordTable options_table() {
  WordTable table{"_zeroapp_options", {}};
  for (const Syntax& command : commands()) {
    std::string words = "--help --version";
    for (const Option& option : command.options) {
      words += text(" ", option.name, option.short_name.empty() ? "" : " ", option.short_name);
    }
    table.rows.emplace_back(command.word, words);
  }
  return table;
}

/// Returns the words behind an option, with files where it takes one; "@none" where it takes what
/// no shell knows.
std::string words_behind(const Option& option) {
  std::vector<std::string> words = words_of(option);
  const auto takes = [&](const char* what) {
    return option.argument.find(what) != option.argument.npos;
  };
  if (takes("FILE") || takes("FOLDER") || takes("DIR") || takes("NEW")) words.emplace_back(kFiles);
  if (takes("NAME")) {
    std::string names = plan::card_names();
    std::erase(names, ',');
    words.push_back("host " + names);
  }
  return words.empty() ? "@none" : joined(words);
}

WordTable arguments_table() {
  WordTable table{"_zeroapp_argument", {}};
  for (const Syntax& command : commands()) {
    for (const Option& option : command.options) {
      if (option.argument.empty() || command.command == Command::help) continue;
      for (const std::string_view name : {option.name, option.short_name}) {
        if (!name.empty()) {
          table.rows.emplace_back(text(command.word, ":", name), words_behind(option));
        }
      }
    }
  }
  return table;
}

WordTable values_table(const std::vector<KeyHelp>& keys) {
  std::map<std::string, std::vector<std::string>> names;
  for (const KeyHelp& key : keys) {
    if (!key.values.empty()) names[joined(key.values)].push_back(key.key);
  }
  WordTable table{"_zeroapp_values", {}};
  for (const auto& [words, of] : names) table.rows.emplace_back(joined(of), words);
  return table;
}

/// Returns the words of lists that have one name each.
WordTable lists_table(const std::vector<KeyHelp>& keys) {
  std::string names, settings, all;
  for (const Syntax& command : commands()) {
    names += text(names.empty() ? "" : " ", command.word);
    const bool sets = command.second == Second::settings && command.command != Command::generate;
    if (sets) settings += text(settings.empty() ? "" : " ", command.word);
  }
  for (const KeyHelp& key : keys) all += text(all.empty() ? "" : " ", key.key);
  return {"_zeroapp_list", {{"commands", names}, {"settings", settings}, {"keys", all}}};
}

std::string replaced(std::string words, char from, const std::string& to) {
  for (size_t at = 0; (at = words.find(from, at)) != words.npos; at += to.size())
    words.replace(at, 1, to);
  return words;
}

/// Writes a table for bash and zsh.
std::string for_sh(const WordTable& table) {
  std::string out = text(table.function, "() {\n  case $1 in\n");
  for (const auto& [names, words] : table.rows) {
    out += text("    ", replaced(names, ' ', "|"), ") echo \"", words, "\" ;;\n");
  }
  return out + "  esac\n}\n";
}

/// Writes a table for fish, whose functions print a word a line.
std::string for_fish(const WordTable& table) {
  std::string out = text("function ", table.function, "\n  switch $argv[1]\n");
  for (const auto& [names, words] : table.rows) {
    out += text("    case ", names, "\n      printf '%s\\n' ", words, "\n");
  }
  return out + "  end\nend\n";
}

template <class Writer>
std::string all_tables(const std::vector<KeyHelp>& keys, const Writer& written) {
  return written(lists_table(keys)) + written(options_table()) + written(arguments_table()) +
         written(values_table(keys));
}

/// The words before the one that is typed say which command has it, and how many unnamed words it
/// has already. bash cuts words at "=", so that the script reads the line itself.
constexpr const char* kBash = R"script(
_zeroapp_offer() {  # WORDS: those that begin as the typed word, and files where @files is one
  local each found=()
  for each in $1; do
    if [ "$each" = @files ]; then
      compopt -o filenames 2> /dev/null
      mapfile -t found < <(compgen -f -- "$current")
      COMPREPLY+=("${found[@]}")
    elif [[ $each != @none && $each == "$current"* ]]; then
      COMPREPLY+=("$each")
    fi
  done
}

_zeroapp() {
  local line=${COMP_LINE:0:COMP_POINT} words=() command=train named='' given=0 i current value key
  current=${line##*[[:space:]]}
  read -ra words <<< "${line%"$current"}"
  if [[ " $(_zeroapp_list commands) " == *" ${words[1]:-} "* ]]; then
    command=${words[1]} named=1
  fi
  value=''
  for ((i = 1 + ${named:-0}; i < ${#words[@]}; ++i)); do
    if [ -n "$value" ]; then
      value=''
    elif [[ ${words[i]} == -* ]]; then
      value=$(_zeroapp_argument "$command:${words[i]}")
    else
      given=$((given + 1))
    fi
  done
  COMPREPLY=()
  if [ -n "$value" ]; then
    _zeroapp_offer "$value"
  elif [[ $current == -* ]]; then
    _zeroapp_offer "$(_zeroapp_options "$command")"
  elif [[ $current == *=* ]]; then
    key=${current%%=*} current=${current#*=}
    _zeroapp_offer "$(_zeroapp_values "$key")"
    if [[ $COMP_WORDBREAKS != *=* ]]; then COMPREPLY=("${COMPREPLY[@]/#/$key=}"); fi
  elif [ "$command" = help ]; then
    _zeroapp_offer "$(_zeroapp_list commands) $(_zeroapp_list keys)"
  elif [ "$command" = inputs ]; then
    _zeroapp_offer "$("${words[0]}" inputs 2> /dev/null | sed -n 's/^  \([^ ]\+\).*/\1/p')"
  elif [ "$given" -eq 0 ]; then
    _zeroapp_offer "$([ -n "$named" ] || _zeroapp_list commands) @files"
  elif [[ " $(_zeroapp_list settings) " == *" $command "* ]]; then
    _zeroapp_offer "$(_zeroapp_list keys)"
    COMPREPLY=("${COMPREPLY[@]/%/=}")
    compopt -o nospace 2> /dev/null
  else
    _zeroapp_offer @files
  fi
}
complete -F _zeroapp zeroapp
)script";

constexpr const char* kZsh = R"script(
_zeroapp_offer() {  # WORDS...: these, and files where @files is one
  local -a plain=(${@:#@*})
  if (( ${@[(Ie)@files]} )); then _files; fi
  if [[ ${#plain} -gt 0 ]]; then compadd -- $plain; fi
}

_zeroapp() {
  local command=train value='' current=$words[CURRENT]
  local -i named=0 given=0 i
  local -a known=($(_zeroapp_list commands)) settings=($(_zeroapp_list settings))
  if (( CURRENT > 2 && ${known[(Ie)$words[2]]} )); then
    command=$words[2] named=1
  fi
  for ((i = 2 + named; i < CURRENT; ++i)); do
    if [[ -n $value ]]; then
      value=''
    elif [[ $words[i] == -* ]]; then
      value=$(_zeroapp_argument $command:$words[i])
    else
      given+=1
    fi
  done
  if [[ -n $value ]]; then
    _zeroapp_offer ${=value}
  elif [[ $current == -* ]]; then
    _zeroapp_offer $(_zeroapp_options $command)
  elif [[ $current == *=* ]]; then
    compset -P '*='
    _zeroapp_offer $(_zeroapp_values ${current%%=*})
  elif [[ $command == help ]]; then
    _zeroapp_offer $known $(_zeroapp_list keys)
  elif [[ $command == inputs ]]; then
    compadd -- $($words[1] inputs 2> /dev/null | sed -n 's/^  \([^ ]*\).*/\1/p')
  elif (( given == 0 )); then
    if (( ! named )); then compadd -- $known; fi
    _files
  elif (( ${settings[(Ie)$command]} )); then
    compadd -S = -- $(_zeroapp_list keys)
  else
    _files
  fi
}
if [[ $funcstack[1] == _zeroapp ]]; then _zeroapp "$@"; else compdef _zeroapp zeroapp; fi
)script";

constexpr const char* kFish = R"script(
function _zeroapp_offer
  for each in $argv
    switch $each
      case @files
        __fish_complete_path (commandline -ct)
      case @none
      case '*'
        printf '%s\n' $each
    end
  end
end

function _zeroapp
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l command train
  set -l named 0
  set -l given 0
  set -l value
  if set -q words[2]; and contains -- $words[2] (_zeroapp_list commands)
    set command $words[2]
    set named 1
  end
  for word in $words[(math 2 + $named)..-1]
    if set -q value[1]
      set value
    else if string match -q -- '-*' $word
      set value (_zeroapp_argument $command:$word)
    else
      set given (math $given + 1)
    end
  end
  if set -q value[1]
    _zeroapp_offer $value
  else if string match -q -- '-*' $current
    _zeroapp_offer (_zeroapp_options $command)
  else if string match -q -- '*=*' $current
    set -l key (string split -m 1 = -- $current)[1]
    for each in (_zeroapp_values $key)
      printf '%s=%s\n' $key $each
    end
  else if test $command = help
    _zeroapp_offer (_zeroapp_list commands) (_zeroapp_list keys)
  else if test $command = inputs
    $words[1] inputs 2> /dev/null | string replace -rf '^  (\S+).*' '$1'
  else if test $given -eq 0
    test $named -eq 1; or _zeroapp_list commands
    _zeroapp_offer @files
  else if contains -- $command (_zeroapp_list settings)
    printf '%s=\n' (_zeroapp_list keys)
  else
    _zeroapp_offer @files
  end
end
complete -c zeroapp -f -a '(_zeroapp)'
)script";

}  // namespace

std::string bash_completion(const std::vector<KeyHelp>& keys) {
  return "# Completions of zeroapp for bash, written by zeroapp manual.\n" +
         all_tables(keys, for_sh) + kBash;
}

std::string zsh_completion(const std::vector<KeyHelp>& keys) {
  return "#compdef zeroapp\n# Completions of zeroapp for zsh, written by zeroapp manual.\n" +
         all_tables(keys, for_sh) + kZsh;
}

std::string fish_completion(const std::vector<KeyHelp>& keys) {
  return "# Completions of zeroapp for fish, written by zeroapp manual.\n" +
         all_tables(keys, for_fish) + kFish;
}

}  // namespace zero::usage
