import t from 'tap'
import {
  chooseWorker,
  FEW_SESSIONS,
  FULL_SHARE,
  LATE_MS,
  LATE_SHARE,
  MAX_SESSIONS,
  type WorkerStatus,
} from './placement.js'

const at = (sessions: number, load: Partial<WorkerStatus> = {}): WorkerStatus => ({
  ready: true,
  sessions,
  busy: 0.3,
  busySessions: sessions,
  sustainedLateMs: 1,
  ...load,
})
const BUSY = { busy: FULL_SHARE + 0.01 }
const LATE = { busy: LATE_SHARE + 0.01, sustainedLateMs: LATE_MS + 0.125 }
const DOWN = { ready: false }

for (const [what, places, expected] of [
  ['the only one', [at(0)], 0],
  ['the emptiest', [at(7), at(3), at(5)], 1],
  ['of equals the first', [at(3), at(3)], 0],
  ['none that is down', [at(0, DOWN), at(90)], 1],
  ['elsewhere when a full one is late', [at(60, LATE), at(150)], 1],
  ['elsewhere when one is busy', [at(60, BUSY), at(150)], 1],
  ['elsewhere even when the busy one carries few', [at(2, BUSY), at(15)], 1],
  ['the busy one when it carries far fewer', [at(2, BUSY), at(60)], 0],
  ['exactly 5 ms is not late', [at(60, { ...LATE, sustainedLateMs: LATE_MS }), at(150)], 0],
  ['lateness at little work is the host’s', [at(60, { busy: 0.2, sustainedLateMs: 40 }), at(150)], 0],
  ['sessions since the last look count', [at(60, { busy: 0.5, busySessions: 30 }), at(150)], 1],
  ['nobody: all late and not few', [at(FEW_SESSIONS, LATE), at(200, LATE)], null],
  ['nobody: all busy', [at(FEW_SESSIONS, BUSY), at(200, BUSY)], null],
  ['one that is busy with one session less', [at(FEW_SESSIONS - 1, BUSY), at(200, LATE)], 0],
  ['nobody: all have the most sessions', [at(MAX_SESSIONS), at(MAX_SESSIONS + 1)], null],
  ['nobody: none up', [at(0, DOWN)], null],
  ['nobody: no workers', [], null],
] as const satisfies readonly [string, readonly WorkerStatus[], number | null][]) {
  t.test(what, (t) => {
    t.equal(chooseWorker(places), expected)
    t.end()
  })
}

t.test('arriving calls are refused while every worker is full, and accepted again afterwards', (t) => {
  const sessions = [0, 0]
  let taken = 0
  const status = () => sessions.map((count) => at(count, { busy: count * 0.008 }))
  for (let i = 0; i < 300; i++) {
    const place = chooseWorker(status())
    if (place === null) continue
    sessions[place] = (sessions[place] ?? 0) + 1
    taken++
  }
  t.strictSame([sessions, taken], [[107, 107], 214])
  sessions[0] = 90
  t.equal(chooseWorker(status()), 0)
  t.end()
})

t.test('a burst between two looks is admitted up to what it will cost', (t) => {
  // 50 sessions were measured at 25 %: one costs half a percent.
  let sessions = 50
  while (chooseWorker([at(sessions, { busy: 0.25, busySessions: 50 })]) !== null) sessions++
  t.equal(sessions, 171)
  t.end()
})
