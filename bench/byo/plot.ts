import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../media/base/project-root.js'
import type { Figure } from '../lib/figures.js'
import { picture } from '../media/plot.js'

interface Step {
  readonly calls: number
  readonly echoP50: number
  readonly cpuPercent: number
}

const LINE = /^E_byo(_asterisk)?@(\d+)(?:-([\w-]+))?$/

const BESIDE = 'Asterisk'

/**
 * Writes bench/results/byo-calls.svg from the echo figures of valid runs; returns null if Parley has none.
 */
export function drawByo(figures: readonly Figure[]): string | null {
  const series = byoSeries(figures)
  if ([...series.keys()].every((name) => name === BESIDE)) return null
  const folder = join(projectRoot, 'bench', 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'byo-calls.svg'), byoPicture(series))
  return 'bench/results/byo-calls.svg'
}

/** Returns one series per bot format, and one for Asterisk, over the calls that were established. */
export function byoSeries(figures: readonly Figure[]): ReadonlyMap<string, readonly Step[]> {
  const series = new Map<string, Step[]>()
  for (const { id, p50, context } of figures) {
    const found = LINE.exec(id)
    const { established, engineCores } = context
    // Figures of a noisy host are void.
    if (found === null || context.void === true || p50 === undefined || typeof established !== 'number')
      continue
    if (typeof engineCores !== 'number') continue
    const name = found[1] === undefined ? (found[3] ?? 'binary') : BESIDE
    const steps = series.get(name) ?? []
    steps.push({ calls: established, echoP50: p50, cpuPercent: engineCores * 100 })
    series.set(name, steps)
  }
  return series
}

export function byoPicture(series: ReadonlyMap<string, readonly Step[]>): string {
  return picture(series, 'calls bridged to a bot on one media thread (Asterisk: on all it has)', [
    { title: 'echo through the bot, p50, ms', value: ({ echoP50 }) => echoP50, limit: 12 },
    {
      title: 'CPU of the whole service, per cent of a core',
      value: ({ cpuPercent }) => cpuPercent,
      limit: 65,
    },
  ])
}
