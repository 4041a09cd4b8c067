#pragma once
/// A function for each command, which returns the exit status. Each throws Error if only this
/// process knows, or launch::Ended if all ranks do and one has printed.

#include "zero/usage/command_line.hpp"
#include "zero/usage/help.hpp"

namespace zero::commands {

using usage::Command;
using usage::CommandLine;
using usage::version;

/// Trains as the input file says, with the ranks that the launcher started. Throws launch::Ended if
/// a failure was printed already.
int train(const CommandLine& line, int& argc, char**& argv);

/// Plans the input for the ranks that the launcher started. Only the first rank prints.
int dry_run(CommandLine line);

/// Compiles the input for the ranks and the machine that are asked for. Prints bytes, elements
/// sent, time, and if it fits. Needs no peers, data or device. Throws Error(kDoesNotFit) if it does
/// not fit, naming the cheapest change that would.
int plan(const CommandLine& line);

/// Prints the #SBATCH lines of a job for the input file on line.nodes nodes with line.gpus ranks
/// each. Needs no peers. Throws Error(kDoesNotFit) as plan() does.
int slurm_job(CommandLine line);

/// Shows the data of an input file for --ranks ranks: files, formats, counts and the fingerprint.
/// --steps adds the samples of those steps, read as the trainer reads them. --decode adds their
/// text. --json prints one object of the counts or, with --steps, one a sample with all its tokens.
/// Needs no peers. Throws Error(kInput) for damaged data, as training would.
int data(const CommandLine& line);

/// Examines all that training needs outside of the program, on every rank that the launcher
/// started. Rank 0 prints one table (with --json, one object): good findings, costs of speed or
/// safety, missing parts, and advice. Measures for a few seconds. Returns 0, or the status that
/// training would end with because a part is missing.
int doctor(const CommandLine& line, int& argc, char**& argv);

/// Measures the rates that forecasts use, on all ranks that the launcher started, all at once. They
/// are memory, products of each type, copies, collectives and, with --nvme, a disk. A device build
/// measures each rank's device, beside the host's memory. Prints each figure and writes a machine
/// file for `plan --machine`. Takes about 15 seconds. Throws Error(kUsage) before measuring if the
/// file exists or the folder does not, and without a device.
int calibrate(const CommandLine& line, int& argc, char**& argv);

/// Prints the loss of a trained model on validation data, with the ranks that the launcher started.
/// Their number changes no digit. --scores writes a file of each sample's scores. The folder is a
/// run's, with its settings, or a model's. key=value add or change settings; those of training do
/// nothing here. Throws launch::Ended if a failure was printed already.
int eval(const CommandLine& line, int& argc, char**& argv);

/// Continues a prompt, or answers texts, with a trained model. The text streams to standard output,
/// one line about it goes to standard error. Ranks of a launcher each hold a shard of the weights
/// and share the texts out. Their number does not change the texts. Throws Error(kUsage) for
/// options that cannot act together. Throws Error(kInput) for a damaged model or one without a
/// tokenizer.
int generate(const CommandLine& line, int& argc, char**& argv);

/// Prints why the steps of a run take their time, and the changes of settings that would gain most.
/// Reads files alone, and compiles plans. Throws Error(kInput) if the run's files do not tell.
int explain(const CommandLine& line);

/// Takes steps of a run again on the ranks that the launcher started, compares every bit, and
/// prints what was the same. Throws launch::Ended, kDevice, naming the first step that differs.
int replay(const CommandLine& line, int& argc, char**& argv);

/// Lists the checkpoints of a run or a folder, or one of them, and the one that a run goes on from,
/// with the reason. Throws Error(kInput) without such a folder.
int ls(const CommandLine& line);

/// Checks every digest of the checkpoints of a run or a folder, or of one of them. Names each
/// damaged file and block, and all else there, with its remedy. Throws Error(kInput) if some
/// checkpoints do not verify, Error(kNoCheckpoint) if none does.
int fsck(const CommandLine& line);

/// Shows the tensors of a checkpoint or a model folder with their statistics; with a second one,
/// their differences. Throws Error(kInput) for unreadable files.
int inspect(const CommandLine& line);

/// Prints the steps and evaluations of a run as one table. Throws Error(kUsage) for an unknown
/// column and for two forms, Error(kInput) for a folder of no run.
int metrics(const CommandLine& line);

/// Prints the state of a run, every second until the launch ends, or once. Throws Error(kUsage) if
/// standard output is no terminal and --once was not typed, Error(kInput) for a folder of no run.
int top(const CommandLine& line);

/// Prints how the last launch of a run ended and what to do. Throws Error(kInput) for a folder of
/// no run.
int why(const CommandLine& line);

/// Writes a page on runs to a new file, or over an earlier page. Throws Error(kInput) for a folder
/// of no run, Error(kIo) if another file has the name.
int report(const CommandLine& line);

/// Writes the model of a checkpoint, of any rank count and stage, as a new model folder. Throws
/// Error(kInput) for a damaged checkpoint or a weight beyond the requested type. Throws Error(kIo)
/// if the folder exists or the disk is full.
int export_model(const CommandLine& line);

/// Makes a new folder of checkpoints with the weights of a model folder as step 0. Throws
/// Error(kInput) listing the first five tensors that do not fit. Throws Error(kIo) if the new
/// folder exists.
int import_weights(const CommandLine& line);

/// Compares texts with their references, line by line: corpus BLEU with its signature, and the
/// share of exact matches. Throws Error(kInput) naming file and line for text that is not UTF-8,
/// and for files of different lengths.
int score(const CommandLine& line);

/// Translates a DeepSpeed or Accelerate file. The input file goes to standard output or a new file,
/// a line for each key to standard error. Throws Error(kUsage), and writes no input file, if a key
/// is wrong, or unsupported and not to be left out. Throws Error(kIo) if it cannot write.
int import_deepspeed(const CommandLine& line);

}  // namespace zero::commands
