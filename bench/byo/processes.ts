import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ByoJob, ByoResult, FromByoBot, FromByoCaller, ToByoBot, ToByoCaller } from './job.js'

/* The processes beside an engine: an echo bot and callers. */

export interface ByoBot {
  readonly port: number
  /** Stands still; resolves with the time at which it resumed. */
  freeze(ms: number): Promise<number>
  /** CPU time of its process so far. */
  cpuMs(): Promise<number>
  close(): void
}

export interface RunningCaller {
  readonly established: number
  readonly tries: number
  send(message: ToByoCaller): void
  /** Ends the measured time and the calls. */
  result(): Promise<ByoResult>
  /** Ends the process in any state. */
  close(): void
}

export async function openBot(): Promise<ByoBot> {
  const child = start('./bot-process.js')
  const ask = async <K extends FromByoBot['kind']>(message: ToByoBot, kind: K) => {
    const answer = next<FromByoBot, K>(child, kind)
    child.send(message)
    return await answer
  }
  const { port } = await next<FromByoBot, 'ready'>(child, 'ready')
  return {
    port,
    freeze: async (ms) => (await ask({ type: 'freeze', ms }, 'thawed')).atMs,
    cpuMs: async () => (await ask({ type: 'usage' }, 'usage')).cpuMs,
    close: () => leave(child),
  }
}

/** Resolves when all calls of the job are established, or were refused for the whole retry time. */
export async function openCaller(job: ByoJob): Promise<RunningCaller> {
  const child = start('./caller-process.js')
  const send = (message: ToByoCaller): void => {
    child.send(message)
  }
  try {
    const up = next<FromByoCaller, 'up'>(child, 'up')
    send({ type: 'call', job })
    const { established, tries } = await up
    return {
      established,
      tries,
      send,
      async result() {
        const answer = next<FromByoCaller, 'result'>(child, 'result')
        send({ type: 'end' })
        const { result } = await answer
        const gone = once(child, 'exit')
        send({ type: 'hang_up' })
        await gone
        return result
      },
      close: () => leave(child),
    }
  } catch (error) {
    leave(child)
    throw error
  }
}

function start(file: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/** Both exit when their parent disconnects. */
function leave(child: ChildProcess): void {
  if (child.exitCode === null && child.connected) child.disconnect()
}

/** Resolves with the next message, which must be of this kind; rejects if the process ends instead. */
function next<Message extends { readonly kind: string }, K extends Message['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<Message, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: Message): void => {
      child.off('exit', onExit)
      if (isOf<Message, K>(message, kind)) resolve(message)
      else reject(new Error(`expected ${kind} of a process of the bench, not ${message.kind}`))
    }
    const onExit = (code: number | null): void => {
      child.off('message', onMessage)
      reject(new Error(`a process of the bench ended with ${code} before it said ${kind}`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
  })
}

function isOf<Message extends { readonly kind: string }, K extends Message['kind']>(
  message: Message,
  kind: K,
): message is Extract<Message, { kind: K }> {
  return message.kind === kind
}
