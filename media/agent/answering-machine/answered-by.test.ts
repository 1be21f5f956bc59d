import t from 'tap'
import { stepAnsweredBy } from './answered-by.js'
import type { AnsweredBy } from './answering-machine-detector.js'

const RESULTS: readonly AnsweredBy[] = ['human', 'unknown', 'voicemail', 'screening', 'ivr', 'fax']

t.test('every result before x result', async (t) => {
  for (const before of [null, ...RESULTS]) {
    for (const by of RESULTS) {
      const { next, note, finish } = stepAnsweredBy(before, by)
      const name = `${before} x ${by}`
      t.equal(next, by, name)
      t.equal(finish, by === 'voicemail' ? 'voicemail' : by === 'fax' ? 'agent_hangup' : null, name)
      if (before === by) t.equal(note, null, `${name}: no second note`)
      else if (by === 'screening') t.match(note, /^A call-screening service/, name)
      else if (by === 'ivr') t.match(note, /^A recorded menu/, name)
      else if (by === 'human' && (before === 'screening' || before === 'ivr')) {
        t.match(note, /^A person is on the line/, name)
      } else t.equal(note, null, name)
    }
  }
})
