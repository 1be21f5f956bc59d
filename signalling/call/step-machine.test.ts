import t from 'tap'
import { StepMachine } from './step-machine.js'

t.test('an effect that throws is reported, and the others are performed', async (t) => {
  const done: string[] = []
  const machine: StepMachine<number, string, string> = new StepMachine<number, string, string>(
    0,
    (state, input) => ({ next: state + 1, effects: [`${input} one`, `${input} two`] }),
    (effect) => {
      if (effect === 'a one') throw new Error('broken')
      done.push(effect)
      if (effect === 'a two') machine.input('b')
    },
    (effect, error) => {
      done.push(`${effect}: ${error instanceof Error ? error.message : ''}`)
      machine.input('c')
    },
  )
  machine.input('a')
  t.strictSame(done, ['a one: broken', 'a two', 'c one', 'c two', 'b one', 'b two'])
  t.equal(machine.state, 3)
  machine.input('d')
  t.strictSame(done.slice(6), ['d one', 'd two'], 'the machine goes on')
})
