import t from 'tap'
import { byoPicture, byoSeries } from '../byo/plot.js'
import type { Figure } from '../lib/figures.js'
import { callsPicture, type Step } from './plot.js'

const step = (calls: number, beatP99: number, cpuPercent: number): Step => ({
  calls,
  latenessP99: beatP99,
  cpuPercent,
  latenessP50: 1,
  latenessMax: 9,
  rssMb: 90,
})

t.test('a line for each variant in both panels, limits and all values inside the picture', async (t) => {
  const picture = callsPicture(
    new Map([
      ['relay', [step(10, 0.8, 5), step(100, 1.2, 30), step(400, 37, 98)]],
      ['srtp', [step(10, 0.9, 6)]],
    ]),
  )
  t.equal(picture.match(/<polyline/g)?.length, 4)
  t.equal(picture.match(/<circle/g)?.length, 8)
  t.equal(picture.match(/>limit (5|65)</g)?.length, 2)
  const height = Number(/height="(\d+)"/.exec(picture)?.[1])
  for (const [, x, y] of picture.matchAll(/cx="([\d.]+)" cy="([\d.]+)"/g)) {
    t.ok(Number(x) >= 60 && Number(x) <= 610)
    t.ok(Number(y) >= 40 && Number(y) <= height - 50)
  }
  t.equal(picture.match(/<text/g)?.length, picture.match(/<\/text>/g)?.length)
})

t.test('nothing measured is still a picture', async (t) => {
  t.match(callsPicture(new Map()), /^<svg [\s\S]*<\/svg>\n$/)
})

t.test('calls to bots: a line for each way, of the calls that were up', async (t) => {
  const row = (id: string, p50: number, established: number): Figure => ({
    id,
    p50,
    n: 1,
    unit: 'ms',
    gate: 12,
    goal: 7,
    pass: true,
    nullProbeMs: 1,
    context: { established, engineCores: 0.4 },
  })
  const series = byoSeries([
    row('E_byo@10', 6, 10),
    row('E_byo@400', 9, 388),
    row('E_byo@10-json', 7, 10),
    row('E_byo', 6, 10),
    { ...row('E_byo@50', 6, 50), context: { established: 50, engineCores: 0.4, void: true } },
    row('C_byo@10', 6, 10),
    row('E_byo_asterisk@10', 20, 10),
  ])
  t.strictSame([...series.keys()], ['binary', 'json', 'Asterisk'])
  t.strictSame(
    series.get('binary')?.map(({ calls, cpuPercent }) => [calls, cpuPercent]),
    [
      [10, 40],
      [388, 40],
    ],
  )
  t.equal(byoPicture(series).match(/<circle/g)?.length, 8)
})
