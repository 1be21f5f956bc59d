import t from 'tap'
import { openLog } from './log.js'

t.test('personal values do not appear in an ordinary log', async (t) => {
  const written = (level: 'info' | 'debug'): string => {
    let text = ''
    const log = openLog(level, {
      write: (line) => {
        text += line
      },
    })
    log.info({ callId: 'call_1', personal: { e164: '+919876543210' } }, 'dialled')
    log.info({ leg: { personal: { digits: '1234' } } }, 'pressed')
    return text
  }
  t.match(written('info'), /"level":"info".*"callId":"call_1".*"msg":"dialled"/)
  t.notMatch(written('info'), /9876543210|1234/)
  t.match(written('debug'), /9876543210/)
})

t.test('the level silent logs nothing', async (t) => {
  let lines = 0
  openLog('silent', { write: () => lines++ }).error({}, 'nobody hears')
  t.equal(lines, 0)
})
