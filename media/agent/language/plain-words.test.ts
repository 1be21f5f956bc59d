import t from 'tap'
import { remainder } from './plain-words.js'

t.test('words of a late final text beyond the answered partial', async (t) => {
  t.equal(remainder('are you open', 'Are you open?'), '')
  t.equal(remainder('are you open', 'Are you open on Sunday?'), 'on Sunday?')
  t.equal(remainder('are you open', 'Where are you?'), '')
  t.equal(remainder('नमस्ते', 'नमस्ते, कौन?'), 'कौन?')
})
