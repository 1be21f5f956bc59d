import { Checkbox, Group, NumberInput, SimpleGrid, TextInput } from '@mantine/core'
import { useTranslations } from 'use-intl'
import type { useFields } from './fields.js'

/** When and how fast a campaign calls. Times are `HH:MM` in India, `weekdays` a mask with Monday as bit 0. */
export type Rules = {
  readonly from: string
  readonly to: string
  readonly weekdays: number
  readonly callsPerMinute: number
  /** 0 for what the limit of the organization allows. */
  readonly maxConcurrent: number
  readonly attempts: number
  readonly intervalMinutes: number
  readonly floorRupees: number
  readonly startsAt: string
}

export const USUAL: Rules = {
  from: '09:00',
  to: '21:00',
  weekdays: 0b0111111,
  callsPerMinute: 10,
  maxConcurrent: 0,
  attempts: 2,
  intervalMinutes: 60,
  floorRupees: 100,
  startsAt: '',
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

const DAY_MINUTES = 1_440

export const minuteOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

/** `24:00` is the end of the day. */
export const clockOf = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`

/** Returns the fields of the API. */
export function rulesBody(rules: Rules) {
  const end = minuteOf(rules.to)
  return {
    pacing: {
      callsPerMinute: rules.callsPerMinute,
      ...(rules.maxConcurrent === 0 ? {} : { maxConcurrent: rules.maxConcurrent }),
    },
    retries: { attempts: rules.attempts, intervalMinutes: rules.intervalMinutes },
    schedule: {
      startsAt: rules.startsAt === '' ? null : `${rules.startsAt}:00+05:30`,
      weekdays: rules.weekdays,
      windowStartMinute: minuteOf(rules.from),
      // A day has no clock time for its end.
      windowEndMinute: end === 0 ? DAY_MINUTES : end,
    },
    autoPauseBelowPaise: Math.round(rules.floorRupees * 100),
  }
}

/** The inputs of the rules. */
export function RulesInput({ form }: { readonly form: ReturnType<typeof useFields<Rules>> }) {
  const t = useTranslations('campaigns')
  const tDays = useTranslations('days')
  const { weekdays } = form.values
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput label={t('hoursFrom')} type="time" required {...form.text('from')} />
        <TextInput label={t('hoursTo')} type="time" required {...form.text('to')} />
      </SimpleGrid>
      <Checkbox.Group
        label={t('weekdays')}
        value={WEEKDAYS.filter((_, bit) => (weekdays & (1 << bit)) !== 0)}
        onChange={(days) =>
          form.set({
            weekdays: WEEKDAYS.reduce((mask, day, bit) => mask | (days.includes(day) ? 1 << bit : 0), 0),
          })
        }
      >
        <Group gap="sm" mt="xs">
          {WEEKDAYS.map((day) => (
            <Checkbox key={day} value={day} label={tDays(day)} />
          ))}
        </Group>
      </Checkbox.Group>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NumberInput label={t('pace')} min={1} max={120} {...form.number('callsPerMinute')} />
        <NumberInput
          label={t('concurrent')}
          description={t('concurrentHint')}
          min={0}
          max={10_000}
          {...form.number('maxConcurrent')}
        />
        <NumberInput label={t('tries')} min={1} max={5} {...form.number('attempts')} />
        <NumberInput label={t('interval')} min={5} max={DAY_MINUTES} {...form.number('intervalMinutes')} />
        <NumberInput
          label={t('floor')}
          description={t('floorHint')}
          prefix="₹"
          min={0}
          decimalScale={2}
          thousandsGroupStyle="lakh"
          thousandSeparator=","
          {...form.number('floorRupees')}
        />
        <TextInput label={t('startsAt')} type="datetime-local" {...form.text('startsAt')} />
      </SimpleGrid>
    </>
  )
}
