import { z } from 'zod'
import { istMinuteOfDay, istWeekday } from '../compliance/calling-hours.js'

/*
 * Opening hours of a transfer destination, in Indian time: windows such as `mon-fri` from 09:30 to 18:00.
 */

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const DAY = `(?:${DAYS.join('|')})`
/** A day, a range of days, or several of both: `mon`, `mon-fri`, `mon,wed`. A range may go over Sunday. */
const DAY_LIST = new RegExp(`^${DAY}(?:-${DAY})?(?:,${DAY}(?:-${DAY})?){0,6}$`)
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/
const END_TIME = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/

const Window = z
  .strictObject({
    days: z.string().max(60).regex(DAY_LIST, 'must be days such as mon, mon-fri or mon,wed'),
    from: z.string().regex(TIME, 'must be a time such as 09:30'),
    to: z.string().regex(END_TIME, 'must be a time such as 18:00, or 24:00'),
  })
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be after from' })

/** Schema of the hours in a body. Null and an empty list mean any time. */
export const Hours = z.array(Window).max(50).nullable()
export type HoursWindow = z.output<typeof Window>

/** Returns whether a destination takes calls at `unixMs`. A window includes its start and excludes its end. */
export function isOpen(hours: readonly HoursWindow[], unixMs: number): boolean {
  if (hours.length === 0) return true
  const day = istWeekday(unixMs)
  const minute = istMinuteOfDay(unixMs)
  return hours.some(
    ({ days, from, to }) => daysOf(days).has(day) && minute >= minuteOf(from) && minute < minuteOf(to),
  )
}

/** Returns the weekdays of a list: Monday is 0. */
function daysOf(list: string): ReadonlySet<number> {
  const days = new Set<number>()
  for (const part of list.split(',')) {
    const [first = '', last = first] = part.split('-')
    const end = indexOf(last)
    for (let day = indexOf(first); ; day = (day + 1) % 7) {
      days.add(day)
      if (day === end) break
    }
  }
  return days
}

function indexOf(day: string): number {
  return (DAYS as readonly string[]).indexOf(day)
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}
