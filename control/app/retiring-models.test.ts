import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import type { Log } from '../../media/base/log.js'
import { silentLog } from '../../media/base/log.js'
import { warnOfRetirements } from './retiring-models.js'

const OPENAI = {
  baseUrl: 'https://api.openai.com/v1',
  apiKey: 'k',
  chatModel: 'gpt-4o-mini',
  transcriptionModel: 'gpt-transcribe',
  speechModel: 'tts-1',
  speechVoice: 'alloy',
  speechRate: 24_000,
}

t.test('the operator is warned of models that retire, from 120 days before', async (t) => {
  const warned = (date: string) => {
    const lines: unknown[] = []
    const log: Log = {
      ...silentLog,
      warn: (fields: object, message: string) => lines.push({ ...fields, message }),
    }
    warnOfRetirements({ openai: OPENAI }, new VirtualClock({ wallMs: Date.parse(date) }), log)
    return lines
  }
  t.strictSame(warned('2026-08-01'), [])
  t.strictSame(warned('2027-01-10'), [
    { model: 'tts-1', retiresOn: '2027-01-06', successor: null, message: 'model.retired' },
    { model: 'gpt-4o-mini', retiresOn: '2027-01-14', successor: 'gpt-6-luna', message: 'model.retires_soon' },
  ])
})
