import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { errorText } from '../../media/base/errors.js'
import type { SrtpKeys } from '../../media/rtp/srtp/keying.js'
import { HEAP_FLAGS, YOUNG_GENERATION_MB } from '../../workers/pool/heap-flags.js'
import { type Figure, figure } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import type { Judgement } from '../lib/judged-time.js'
import { percentile, rounded } from '../lib/statistics.js'
import type { FromBridges, FromPeers, ReceivedQuality, ToBridges, ToPeers, Usage, Variant } from './job.js'
import { drawCalls, type Step } from './plot.js'

/** Calls at each step; the next step adds to the existing ones. */
const STEPS = [10, 25, 50, 75, 100, 150, 200, 250, 300, 400] as const
/**
 * A jitter buffer remembers the jitter of 8 s, in which new calls were opened and garbage was collected. The frame clock reports
 * its lateness over 10 s, the end of the warm-up included.
 */
const WARM_MS = 9000
const HOLD_MS = 8000
const TRIES = 2
/** A young generation consists of this many semi-spaces of V8. */
const SEMI_SPACES = 3
/** This many failed steps end the climb, since one may be the host's fault; a full core ends it too. */
const MISSES = 3
const FULL_PERCENT = 85
const ANSWER_MS = 60_000

/** Steps of every variant measured in this run, for the drawing. */
const drawn = new Map<string, readonly Step[]>()

interface Taken extends Step {
  readonly holds: boolean
  readonly nullProbeMs: number
  readonly leftOutPercent: number
  readonly noisy: boolean
  readonly heard: Omit<ReceivedQuality, 'transitMs'>
  readonly transitMs: readonly number[]
}

/**
 * Calls@variant: measures the most bridged calls that one thread carries with every packet in time.
 * Cpu@variant and Memory@variant: the cost of one more call. X@variant: the transit time of a packet.
 */
export async function measureCalls(
  variant: Variant,
  probe: Probe,
  say: (line: string) => void,
  mayGoOn: () => boolean,
): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const rig = await openRig(variant, folder)
  const steps: Taken[] = []
  let error: string | null = null
  try {
    let up = 0
    let misses = 0
    for (const calls of STEPS) {
      await rig.add(calls - up)
      up = calls
      let taken = await take(rig, calls, probe)
      for (let n = 1; !taken.holds && n < TRIES && mayGoOn(); n++) {
        taken = await take(rig, calls, probe)
      }
      steps.push(taken)
      say(
        `  ${variant.name}: ${calls} calls ${taken.holds ? 'hold' : 'do not hold'}, ${taken.cpuPercent} % of a core, beat p99 ${taken.latenessP99} ms (${taken.leftOutPercent} % of the time left out)`,
      )
      // The cost of one more call can be measured on a noisy host as well, from a few steps.
      if (!taken.holds && (taken.cpuPercent > FULL_PERCENT || ++misses === MISSES)) break
      if (!mayGoOn()) break
    }
  } catch (failure) {
    // Steps measured before the failure count, and so do the other variants.
    error = errorText(failure)
    say(`  ${variant.name}: ${error}`)
  } finally {
    await rig.close().catch((failure: unknown) => say(`  ${variant.name}: ${errorText(failure)}`))
    rmSync(folder, { recursive: true, force: true })
  }
  drawn.set(variant.name, steps)
  const picture = drawCalls(drawn)
  return rows(variant, steps, picture, error)
}

function rows(variant: Variant, steps: readonly Taken[], picture: string, error: string | null): Figure[] {
  const held = steps.filter(({ holds }) => holds)
  const best = held.at(-1)
  const last = steps.at(-1)
  const lowerBound = last !== undefined && (last.holds || last.noisy)
  const details = steps.map(({ heard, transitMs, ...step }) => ({
    ...step,
    percentLateOver5: rounded((100 * heard.lateOver5) / Math.max(1, heard.packets)),
    lateOver20: heard.lateOver20,
    lost: heard.lost,
    gapP99: rounded(heard.gapP99),
    transitP99: transitMs.length === 0 ? null : rounded(percentile(transitMs, 0.99)),
  }))
  // The cost is computed from all steps but the failed ones.
  const counted = held.length > 1 ? held : steps
  const context = {
    variant: variant.name,
    codecs: variant.codecs.join(' - '),
    holdSeconds: HOLD_MS / 1000,
    lowerBound,
    leftOutPercent: Math.max(0, ...steps.map((step) => step.leftOutPercent)),
    ...(error === null ? {} : { error }),
    ...(last === undefined || (!last.holds && last.noisy) ? { void: true } : {}),
  }
  const nullProbeMs = Math.max(0, ...steps.map((step) => step.nullProbeMs))
  const perFrameUs = slope(counted.map(({ calls, cpuPercent }) => [calls, cpuPercent * 200]))
  const memoryMb = slope(counted.map(({ calls, rssMb }) => [calls, rssMb]))
  const transit = (best ?? last)?.transitMs ?? []
  const n = steps.length
  const figures = [
    figure(`Calls@${variant.name}`, { n, value: best?.calls ?? 0 }, { ...context, picture, steps: details }),
    // The cost of one more call needs at least two steps.
    ...(counted.length < 2
      ? []
      : [
          figure(`Cpu@${variant.name}`, { n, value: rounded(perFrameUs) }, context),
          figure(`Memory@${variant.name}`, { n, value: rounded(memoryMb) }, context),
        ]),
    ...(transit.length === 0
      ? []
      : [
          figure(
            `X@${variant.name}`,
            {
              n: transit.length,
              p50: rounded(percentile(transit, 0.5)),
              p99: rounded(percentile(transit, 0.99)),
            },
            { ...context, calls: (best ?? last)?.calls },
          ),
        ]),
  ]
  return figures.map((row) => ({ ...row, nullProbeMs }))
}

/** Returns the least-squares slope of y over x. */
function slope(points: readonly (readonly [number, number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length
  const over = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const under = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return under === 0 ? Number.NaN : over / under
}

async function take(rig: Rig, calls: number, probe: Probe): Promise<Taken> {
  const { rssMb } = await rig.usage(true)
  await sleep(WARM_MS)
  await probe.begin()
  await rig.begin()
  const before = await rig.usage(false)
  const startedMs = performance.now()
  await sleep(HOLD_MS)
  const after = await rig.usage(false)
  const tookMs = performance.now() - startedMs
  const judged = await probe.judge()
  const { transitMs, ...heard } = await rig.end(judged)
  return {
    calls,
    cpuPercent: rounded((100 * (after.cpuMs - before.cpuMs)) / tookMs),
    rssMb: rounded(rssMb),
    latenessP50: after.latenessP50,
    latenessP99: after.latenessP99,
    latenessMax: rounded(after.latenessMax),
    holds:
      // Two legs, 50 packets a second each; the first and the last may fall outside.
      heard.packets > 0.98 * 2 * calls * (HOLD_MS / 20) &&
      heard.lateOver5 < 0.001 * heard.packets &&
      heard.lateOver20 === 0 &&
      heard.lost === 0,
    nullProbeMs: judged.nullProbeMs,
    leftOutPercent: judged.leftOutPercent,
    noisy: judged.isVoid,
    heard,
    transitMs,
  }
}

interface Rig {
  add(calls: number): Promise<void>
  begin(): Promise<void>
  end(judged: Judgement): Promise<ReceivedQuality>
  usage(collect: boolean): Promise<Usage>
  close(): Promise<void>
}

async function openRig(variant: Variant, folder: string): Promise<Rig> {
  const keys = variant.srtp ? makeKeys() : null
  // As in a media thread. The callers have them too: a late caller makes packets of the engine look late.
  const flags = [...HEAP_FLAGS, `--max-semi-space-size=${YOUNG_GENERATION_MB / SEMI_SPACES}`]
  const bridges = start('./bridge-process.js', flags)
  const peers = start('./peer-process.js', flags)
  const askBridges = (message: ToBridges) => ask<FromBridges>(bridges, message)
  const askPeers = (message: ToPeers) => ask<FromPeers>(peers, message)
  await askBridges({ type: 'open', variant, keys, folder })
  await askPeers({ type: 'open', variant, keys })
  return {
    async add(calls) {
      const made = await askPeers({ type: 'make', calls })
      if (made.kind !== 'made') throw new Error(`the peers answered ${made.kind}`)
      const added = await askBridges({ type: 'add', peers: made.ports })
      if (added.kind !== 'added') throw new Error(`the bridges answered ${added.kind}`)
      await askPeers({ type: 'talk', ports: added.ports })
    },
    async begin() {
      await askPeers({ type: 'begin' })
    },
    async end({ late }) {
      const answer = await askPeers({ type: 'end', hostLate: [...late] })
      if (answer.kind !== 'heard') throw new Error(`the peers answered ${answer.kind}`)
      return answer.heard
    },
    async usage(collect) {
      const answer = await askBridges({ type: 'usage', collect })
      if (answer.kind !== 'usage') throw new Error(`the bridges answered ${answer.kind}`)
      return answer.usage
    },
    async close() {
      try {
        if (bridges.connected) await askBridges({ type: 'close' })
      } finally {
        if (peers.connected) peers.disconnect()
        if (bridges.connected) bridges.disconnect()
      }
    },
  }
}

function start(file: string, flags: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ['--enable-source-maps', '--expose-gc', ...flags],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/** Resolves with the next answer; rejects if the process fails, ends, or takes too long. */
function ask<Answer extends { readonly kind: string }>(
  child: ChildProcess,
  message: object,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const done = (outcome: () => void): void => {
      clearTimeout(limit)
      child.off('message', onMessage)
      child.off('exit', onExit)
      outcome()
    }
    const onMessage = (answer: Answer): void => {
      done(() => {
        if (answer.kind === 'failed') reject(new Error(`the media bench failed: ${JSON.stringify(answer)}`))
        else resolve(answer)
      })
    }
    const onExit = (): void => done(() => reject(new Error('a process of the media bench ended')))
    const limit = setTimeout(() => {
      child.kill('SIGKILL')
      done(() => reject(new Error('a process of the media bench does not answer')))
    }, ANSWER_MS)
    child.on('message', onMessage)
    child.once('exit', onExit)
    child.send(message)
  })
}

function makeKeys(): SrtpKeys {
  const key = () => ({ keyAndSalt: new Uint8Array(randomBytes(30)), mki: null })
  return { suite: 'AES_CM_128_HMAC_SHA1_80', send: key(), receive: key() }
}
