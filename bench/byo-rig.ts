import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Engine, startEngine } from '../fixtures/engine.js'
import type { ByoResult, FromByoBot, FromByoCaller, ToByoBot, ToByoCaller } from './byo-job.js'

/*
 * Engine, bot and callers in a process each; the engine has one media worker.
 */

/** What a bot is spoken to in. */
export interface Way {
  readonly name: string
  readonly endpoint: { readonly type: string; readonly format: string; readonly sampleRate: number }
}

export const BINARY: Way = {
  name: '',
  endpoint: { type: 'jambonz', format: 'linear16', sampleRate: 8000 },
}
export const OTHER_WAYS: readonly Way[] = [
  { name: 'json', endpoint: { type: 'static', format: 'mulaw', sampleRate: 8000 } },
  { name: 'wide', endpoint: { type: 'vonage', format: 'linear16', sampleRate: 16_000 } },
  { name: 'json-wide', endpoint: { type: 'static', format: 'linear16', sampleRate: 16_000 } },
]

/** New calls a second, and how long those that find no room go on trying. */
const CALLS_PER_SECOND = 10
const PATIENCE_MS = 45_000

export interface RunningCaller {
  readonly established: number
  readonly tries: number
  send(message: ToByoCaller): void
  result(): Promise<ByoResult>
}

export interface ByoRig {
  readonly engine: Engine
  call(calls: number, everyMs: number): Promise<RunningCaller>
  /** Resolves with when it went on. */
  freeze(ms: number): Promise<number>
  /** CPU of the bot's process so far. */
  botCpuMs(): Promise<number>
  close(): Promise<void>
}

export async function openByoRig(way: Way): Promise<ByoRig> {
  const children: ChildProcess[] = []
  const start = (file: string): ChildProcess => {
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    children.push(child)
    return child
  }
  const engine = await startEngine({
    env: { PARLEY_MEDIA_WORKERS: '1', PARLEY_ALLOW_PRIVATE_URLS: 'true' },
    byoCalls: 1000,
  })
  const bot = start('./byo-bot.js')
  const heard = async <K extends FromByoBot['kind']>(kind: K) => {
    const [message] = (await once(bot, 'message')) as [FromByoBot]
    if (message.kind !== kind) throw new Error(`the bot said ${message.kind}, not ${kind}`)
    return message as Extract<FromByoBot, { kind: K }>
  }
  const ask = async <K extends FromByoBot['kind']>(message: ToByoBot, kind: K) => {
    const answer = heard(kind)
    bot.send(message)
    return await answer
  }
  const { port } = await heard('ready')
  const numbers = (await engine.api('GET', '/v1/numbers')) as {
    readonly data: readonly { readonly id: string; readonly e164: string }[]
  }
  const [number] = numbers.data
  if (number === undefined) throw new Error('no sandbox number')
  await engine.api('PATCH', `/v1/numbers/${number.id}`, {
    routingMode: 'byo_ws',
    recordCalls: false,
    mediaEndpoint: { ...way.endpoint, url: `ws://127.0.0.1:${port}/` },
  })
  return {
    engine,
    async call(calls, everyMs) {
      const child = start('./byo-caller.js')
      const next = async (): Promise<FromByoCaller> => ((await once(child, 'message')) as [FromByoCaller])[0]
      const send = (message: ToByoCaller): void => {
        child.send(message)
      }
      const up = next()
      send({
        do: 'call',
        job: {
          target: { address: '127.0.0.1', port: engine.sipPort },
          to: number.e164,
          calls,
          callsPerSecond: CALLS_PER_SECOND,
          patienceMs: (calls * 1000) / CALLS_PER_SECOND + PATIENCE_MS,
          everyMs,
          exact: way.endpoint.sampleRate === 8000,
        },
      })
      const first = await up
      if (first.kind !== 'up') throw new Error('the caller did not come up')
      return {
        established: first.established,
        tries: first.tries,
        send,
        async result() {
          const answer = next()
          send({ do: 'end' })
          const last = await answer
          if (last.kind !== 'result') throw new Error('the caller has no result')
          const gone = once(child, 'exit')
          send({ do: 'hang_up' })
          await gone
          return last.result
        },
      }
    },
    freeze: async (ms) => (await ask({ do: 'freeze', ms }, 'thawed')).atMs,
    botCpuMs: async () => (await ask({ do: 'usage' }, 'usage')).cpuMs,
    async close() {
      await engine.close()
      for (const child of children) if (child.exitCode === null && child.connected) child.disconnect()
    },
  }
}
