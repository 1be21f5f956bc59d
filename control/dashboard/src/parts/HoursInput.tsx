import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useTranslations } from 'use-intl'

export interface Window {
  readonly days: string
  readonly from: string
  readonly to: string
}
export type Hours = readonly Window[]

const DAYS = ['mon-fri', 'mon-sat', 'mon-sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const OFFICE: Window = { days: 'mon-fri', from: '09:00', to: '18:00' }
const MOST = 20

/** Opening hours in Indian time. None means any time. */
export function HoursInput(props: { readonly hours: Hours; readonly onChange: (hours: Hours) => void }) {
  const t = useTranslations('destinations')
  const tDays = useTranslations('days')
  const { hours, onChange } = props
  const change = (at: number, part: Partial<Window>): void =>
    onChange(hours.map((window, index) => (index === at ? { ...window, ...part } : window)))
  const wrong = hours.some(({ from, to }) => from >= to)
  return (
    <Stack gap="xs" role="group" aria-label={t('hours')}>
      <Text size="sm" fw={500}>
        {t('hours')}
      </Text>
      {hours.length === 0 && <Text size="sm">{t('always')}</Text>}
      {hours.map(({ days, from, to }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: windows have no other name, and inputs keep their state outside
        <Group key={index} gap="xs" align="flex-end">
          <NativeSelect
            label={t('days')}
            value={days}
            onChange={({ currentTarget }) => change(index, { days: currentTarget.value })}
            data={[
              ...DAYS.map((value) => ({ value, label: tDays(value) })),
              // Lists of days that the API was given stay selectable.
              ...(DAYS.some((known) => known === days) ? [] : [{ value: days, label: days }]),
            ]}
          />
          <TextInput
            label={t('from')}
            type="time"
            required
            value={from}
            onChange={({ currentTarget }) => change(index, { from: currentTarget.value })}
          />
          <TextInput
            label={t('to')}
            type="time"
            required
            value={to}
            onChange={({ currentTarget }) => change(index, { to: currentTarget.value })}
          />
          <Button variant="default" onClick={() => onChange(hours.filter((_, at) => at !== index))}>
            {t('dropHours')}
          </Button>
        </Group>
      ))}
      {wrong && (
        <Text size="sm" role="alert">
          {t('badHours')}
        </Text>
      )}
      <div>
        <Button
          variant="default"
          size="xs"
          disabled={hours.length >= MOST}
          onClick={() => onChange([...hours, OFFICE])}
        >
          {t('addHours')}
        </Button>
      </div>
    </Stack>
  )
}
