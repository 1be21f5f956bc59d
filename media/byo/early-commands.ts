import type { BotCommand } from './dialects/wire-format.js'

/** Commands a bot may send while the call still rings: generously, a greeting. */
const MAX_COMMANDS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** Keeps the commands a bot sends before its stream begins. */
export class EarlyCommands {
  #commands: BotCommand[] = []
  #bytes = 0

  /** Keeps a command; returns false when there are too many. */
  add(command: BotCommand): boolean {
    const bytes = sizeOf(command)
    if (this.#commands.length >= MAX_COMMANDS || this.#bytes + bytes > MAX_BYTES) return false
    this.#commands.push(command)
    this.#bytes += bytes
    return true
  }

  /** Returns the commands in order and forgets them. */
  take(): readonly BotCommand[] {
    const commands = this.#commands
    this.#commands = []
    this.#bytes = 0
    return commands
  }
}

function sizeOf(command: BotCommand): number {
  switch (command.type) {
    case 'play':
      return command.audio.length
    case 'mark':
      return command.name.length
    case 'transfer':
      return (command.request.note?.length ?? 0) + (command.request.reason?.length ?? 0)
    default:
      return 0
  }
}
