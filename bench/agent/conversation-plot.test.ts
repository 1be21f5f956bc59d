import t from 'tap'
import { type DensityStep, densityPicture, waterfallPicture } from './conversation-plot.js'

const step = (calls: number, enginePercent: number, replyP99: number): DensityStep => ({
  calls,
  enginePercent,
  mediaPercent: enginePercent * 0.8,
  mainPercent: enginePercent * 0.1,
  vendorsPercent: 5,
  callersPercent: 9,
  latenessP99: 1,
  replyP99,
})

t.test('a number of calls that was tried again counts once, as it was at last', async (t) => {
  const svg = densityPicture([step(25, 15, 40), step(50, 90, 400), step(50, 31, 55)])
  t.equal(svg.match(/<polyline/g)?.length, 5)
  t.equal(svg.match(/<circle/g)?.length, 10)
  t.match(svg, />limit 65</)
  t.match(svg, />limit 90</)
  t.notMatch(svg, />400</, 'the scale is of what counts')
  t.match(densityPicture([step(10, 5, Number.NaN)]), /<\/svg>\n$/)
  t.notMatch(densityPicture([step(10, 5, Number.NaN)]), /NaN/)
})

t.test('bars of stages fit the picture, with their totals and what is ours', async (t) => {
  const stages = [
    { name: 'silence', of: 'policy', ms: 300 },
    { name: 'ingest', of: 'engine', ms: -4 },
    { name: 'model', of: 'vendor', ms: 400 },
    { name: 'emit', of: 'engine', ms: 20 },
  ] as const
  const svg = waterfallPicture([
    { name: 'typical', stages },
    { name: 'zero', stages: stages.filter(({ of }) => of !== 'vendor') },
  ])
  t.match(svg, />716 ms, ours 20</)
  t.match(svg, />316 ms, ours 20</)
  for (const [, x, width] of svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="34"/g)) {
    t.ok(Number(x) >= 60 && Number(x) + Number(width) <= 615)
  }
  t.equal(svg.match(/<rect[^>]*height="34"/g)?.length, 7)
  t.match(waterfallPicture([]), /<\/svg>\n$/)
})
