import { type ServiceProcess, startServiceProcess } from '../../fixtures/service/service-process.js'
import { type ByoBot, openBot, openCaller, type RunningCaller } from './processes.js'

/* Engine, bot and callers in a process each; the engine has one media worker. */

/** The format in which a bot is addressed. */
export interface BotEndpoint {
  readonly name: string
  readonly endpoint: { readonly type: string; readonly format: string; readonly sampleRate: number }
}

export const BINARY: BotEndpoint = {
  name: '',
  endpoint: { type: 'jambonz', format: 'linear16', sampleRate: 8000 },
}
export const OTHER_PROTOCOLS: readonly BotEndpoint[] = [
  { name: 'json', endpoint: { type: 'static', format: 'mulaw', sampleRate: 8000 } },
  { name: 'wide', endpoint: { type: 'vonage', format: 'linear16', sampleRate: 16_000 } },
  { name: 'json-wide', endpoint: { type: 'static', format: 'linear16', sampleRate: 16_000 } },
]

/** New calls per second, and how long refused calls keep retrying. */
export const CALLS_PER_SECOND = 10
const PATIENCE_MS = 45_000

/** How the calls arrive, and how long refused ones keep retrying (ms). */
export interface Arrival {
  readonly perSecond: number
  readonly patienceMs: number
}

export interface ByoRig {
  readonly service: ServiceProcess
  readonly bot: ByoBot
  /** Number that the bot answers. */
  readonly to: string
  call(calls: number, everyMs: number, arrival?: Arrival): Promise<RunningCaller>
  close(): Promise<void>
}

export async function openByoRig(way: BotEndpoint): Promise<ByoRig> {
  const engine = await startServiceProcess({
    env: { PARLEY_MEDIA_WORKERS: '1', PARLEY_ALLOW_PRIVATE_URLS: 'true' },
    byoCalls: 1000,
  })
  const bots: ByoBot[] = []
  const callers: RunningCaller[] = []
  const close = async (): Promise<void> => {
    await engine.close()
    for (const child of [...bots, ...callers]) child.close()
  }
  try {
    const bot = await openBot()
    bots.push(bot)
    const to = await route(engine, way, bot.port)
    return {
      service: engine,
      bot,
      to,
      async call(calls, everyMs, arrival) {
        const caller = await openCaller({
          target: { address: '127.0.0.1', port: engine.sipPort },
          to,
          calls,
          callsPerSecond: arrival?.perSecond ?? CALLS_PER_SECOND,
          patienceMs: arrival?.patienceMs ?? (calls * 1000) / CALLS_PER_SECOND + PATIENCE_MS,
          everyMs,
          exact: way.endpoint.sampleRate === 8000,
        })
        callers.push(caller)
        return caller
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Assigns the sandbox number to the bot; returns the number. */
async function route(engine: ServiceProcess, way: BotEndpoint, botPort: number): Promise<string> {
  const numbers = (await engine.api('GET', '/v1/numbers')) as {
    readonly data: readonly { readonly id: string; readonly e164: string }[]
  }
  const [number] = numbers.data
  if (number === undefined) throw new Error('no sandbox number')
  await engine.api('PATCH', `/v1/numbers/${number.id}`, {
    routingMode: 'byo_ws',
    recordCalls: false,
    mediaEndpoint: { ...way.endpoint, url: `ws://127.0.0.1:${botPort}/` },
  })
  return number.e164
}
