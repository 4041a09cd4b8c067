#!/usr/bin/env bash
# Makes a token file, and first whatever of this is missing: the text, if it is named web.txt (by
# web_text.py), and the tokenizer (by bpe.py, from the text). What is there stays as it is.
#   tools/data/make_tokens.sh TEXT OUT.bin                      a token is a byte
#   tools/data/make_tokens.sh TEXT OUT.bin FOLDER VOCABULARY    or an entry of FOLDER's BPE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/common.sh
. "$here/../common.sh"

if [ $# -ne 2 ] && [ $# -ne 4 ]; then
  fail 2 "write TEXT OUT.bin, or TEXT OUT.bin FOLDER VOCABULARY"
fi
text=$1 tokens=$2 tokenizer=()
if [ ! -e "$text" ]; then
  [ "$(basename "$text")" = web.txt ] || fail 3 "$text: is missing, and only a web.txt is made here"
  python3 "$here/web_text.py" "$text"
fi
if [ $# -eq 4 ]; then
  tokenizer=(--tokenizer "$3")
  if [ -e "$3/spiece.model" ] || [ -f "$3" ]; then
    fail 2 "$3: holds a SentencePiece model, of which no token file is made here"
  fi
  if [ ! -e "$3/vocab.json" ] || [ ! -e "$3/merges.txt" ]; then
    python3 "$here/bpe.py" "$text" --out "$3" --vocab-size "$4"
  fi
fi
python3 "$here/tokens.py" "$text" "$tokens" "${tokenizer[@]}"
