import t from 'tap'
import { chooseWorker, FEW_SESSIONS, LATE_MS, MAX_SESSIONS, type WorkerStatus } from './placement.js'

const at = (sessions: number, p99Ms = 1, up = true): WorkerStatus => ({ ready: up, sessions, p99Ms })
const LATE = LATE_MS + 0.125

for (const [what, places, expected] of [
  ['the only one', [at(0)], 0],
  ['the emptiest', [at(7), at(3), at(5)], 1],
  ['of equals the first', [at(3), at(3)], 0],
  ['none that is down', [at(0, 0, false), at(90)], 1],
  ['elsewhere when a full one is late', [at(60, LATE), at(150)], 1],
  ['elsewhere even when the late one carries few', [at(2, LATE), at(15)], 1],
  ['the late one when it carries far fewer', [at(2, LATE), at(60)], 0],
  ['exactly 5 ms is not late', [at(60, LATE_MS), at(150)], 0],
  ['nobody: all late and not few', [at(FEW_SESSIONS, LATE), at(200, 40)], null],
  ['one that is late with one session less', [at(FEW_SESSIONS - 1, LATE), at(200, 40)], 0],
  ['nobody: all full', [at(MAX_SESSIONS), at(MAX_SESSIONS + 1)], null],
  ['nobody: none up', [at(0, 0, false)], null],
  ['nobody: no workers', [], null],
] as const satisfies readonly [string, readonly WorkerStatus[], number | null][]) {
  t.test(what, (t) => {
    t.equal(chooseWorker(places), expected)
    t.end()
  })
}

t.test('arriving calls are refused while every worker is late, and accepted again afterwards', (t) => {
  const sessions = [0, 0]
  let taken = 0
  // Frames are late from 100 sessions on, as on a full core.
  for (let i = 0; i < 300; i++) {
    const place = chooseWorker(sessions.map((count) => at(count, count >= 100 ? 9 : 2)))
    if (place === null) continue
    sessions[place] = (sessions[place] ?? 0) + 1
    taken++
  }
  t.strictSame([sessions, taken], [[100, 100], 200])
  sessions[0] = 90
  t.equal(chooseWorker(sessions.map((count) => at(count, count >= 100 ? 9 : 2))), 0)
  t.end()
})
