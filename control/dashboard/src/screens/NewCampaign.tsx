import {
  Alert,
  Button,
  FileButton,
  Group,
  NativeSelect,
  Paper,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { type Rules, RulesInput, rulesBody, USUAL } from '../parts/CampaignRules.js'
import { useFields } from '../parts/fields.js'
import { useAction } from '../parts/List.js'
import { useAgentsQuery, useNumbersQuery } from '../parts/lookups.js'
import { Failures, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { RefusedRows } from '../parts/RefusedRows.js'
import { Rows } from '../parts/Rows.js'
import {
  asE164,
  badRows,
  EXTERNAL_ID,
  guessMapping,
  type Mapping,
  mappedCsv,
  mappingProblem,
  NUMBER,
  readTable,
  type Table,
} from '../parts/recipients-file.js'
import { useSession } from '../session.js'

const STEPS = ['basics', 'people', 'rules', 'done'] as const
type Step = (typeof STEPS)[number]

interface Listed {
  readonly name: string
  readonly table: Table
  readonly mapping: Mapping
}

/** Makes a campaign in steps: who calls, whom, and by which rules. Nothing is called before its launch. */
export function NewCampaign() {
  const t = useTranslations('campaigns')
  const tCommon = useTranslations('common')
  const { environment, canWrite } = useSession()
  const [step, setStep] = useState<Step>('basics')
  const basics = useFields({ name: '', agent: '', number: '' })
  const [list, setList] = useState<Listed | null>(null)
  const rules = useFields<Rules>(USUAL)
  const at = STEPS.indexOf(step)
  return (
    <Page
      title={t('new')}
      actions={
        <Link to="/$environment/campaigns" params={{ environment }}>
          {t('back')}
        </Link>
      }
    >
      {canWrite ? (
        <>
          <ol className="steps">
            {STEPS.map((name, index) => (
              <li
                key={name}
                aria-current={name === step ? 'step' : undefined}
                className={index < at ? 'past' : ''}
              >
                {index + 1}. {t(`steps.${name}`)}
              </li>
            ))}
          </ol>
          {step === 'basics' && <Basics form={basics} next={() => setStep('people')} />}
          {step === 'people' && (
            <People
              list={list}
              onList={setList}
              back={() => setStep('basics')}
              next={() => setStep('rules')}
            />
          )}
          {(step === 'rules' || step === 'done') && (
            <Finish
              basics={basics.values}
              list={list}
              rules={rules}
              back={() => setStep('people')}
              done={() => setStep('done')}
            />
          )}
        </>
      ) : (
        <Text>{tCommon('notAllowed')}</Text>
      )}
    </Page>
  )
}

function StepForm(props: {
  readonly next: () => void
  readonly label: string
  readonly disabled?: boolean
  readonly loading?: boolean
  readonly back?: () => void
  readonly children: ReactNode
}) {
  const t = useTranslations('campaigns')
  const { next, label, disabled = false, loading = false, back, children } = props
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    next()
  }
  return (
    <Paper withBorder p="lg" maw={820}>
      <form onSubmit={submit}>
        <Stack>
          {children}
          <Group>
            <Button type="submit" disabled={disabled} loading={loading}>
              {label}
            </Button>
            {back !== undefined && (
              <Button variant="default" onClick={back}>
                {t('previous')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Paper>
  )
}

type BasicValues = { readonly name: string; readonly agent: string; readonly number: string }

/** Agents that calls can use, and the numbers from which an agent calls. */
function useCallers() {
  const agents = useAgentsQuery()
  const numbers = useNumbersQuery()
  return {
    queries: [agents, numbers],
    loaded: agents.data !== undefined && numbers.data !== undefined,
    agents: agents.data?.items.filter(({ publishedVersion }) => publishedVersion !== null) ?? [],
    numbers: numbers.data?.items.filter(({ status }) => status === 'active') ?? [],
  }
}

function Basics(props: {
  readonly form: ReturnType<typeof useFields<BasicValues>>
  readonly next: () => void
}) {
  const t = useTranslations('campaigns')
  const { environment } = useSession()
  const { form, next } = props
  const { queries, loaded, agents, numbers } = useCallers()
  const params = { environment }
  return (
    <StepForm next={next} label={t('next')} disabled={agents.length === 0 || numbers.length === 0}>
      <TextInput label={t('name')} required maxLength={120} data-autofocus {...form.text('name')} />
      <NativeSelect
        label={t('agent')}
        {...form.text('agent')}
        data={agents.map(({ id, name }) => ({ value: id, label: name }))}
      />
      <NativeSelect
        label={t('from')}
        {...form.text('number')}
        data={numbers.map(({ id, e164, label }) => ({
          value: id,
          label: label === '' || label === e164 ? e164 : `${e164} (${label})`,
        }))}
      />
      <Failures queries={queries} />
      {loaded && agents.length === 0 && (
        <Alert color="orange">
          <Link to="/$environment/agents" params={params}>
            {t('needAgent')}
          </Link>
        </Alert>
      )}
      {loaded && numbers.length === 0 && (
        <Alert color="orange">
          <Link to="/$environment/numbers" params={params}>
            {t('needNumber')}
          </Link>
        </Alert>
      )}
    </StepForm>
  )
}

const SHOWN_ROWS = 5

function People(props: {
  readonly list: Listed | null
  readonly onList: (list: Listed) => void
  readonly back: () => void
  readonly next: () => void
}) {
  const t = useTranslations('campaigns')
  const { list, onList, back, next } = props
  const { count } = useFormat()
  const read = useMutation({
    mutationFn: async (file: File) => {
      const table = await readTable(file)
      if (table.rows.length === 0) throw new Error('empty')
      return { name: file.name, table, mapping: guessMapping(table) }
    },
    onSuccess: onList,
  })
  const problem = list === null ? null : mappingProblem(list.mapping)
  return (
    <StepForm
      next={next}
      label={list === null ? t('later') : t('next')}
      disabled={list !== null && problem !== null}
      back={back}
    >
      <Text size="sm">{t('uploadHint')}</Text>
      <div>
        <FileButton accept="text/csv,.csv" onChange={(file) => file !== null && read.mutate(file)}>
          {(button) => (
            <Button variant="default" loading={read.isPending} {...button}>
              {list === null ? t('upload') : t('another')}
            </Button>
          )}
        </FileButton>
      </div>
      {read.error !== null && (
        <Alert color="red" role="alert">
          {t('unreadable')}
        </Alert>
      )}
      {list !== null && (
        <>
          <Text role="status">{t('rowsIn', { rows: count(list.table.rows.length), file: list.name })}</Text>
          <MappingInput list={list} onMapping={(mapping) => onList({ ...list, mapping })} />
          {problem !== null && (
            <Alert color="red" role="alert">
              {t(problem)}
            </Alert>
          )}
          {problem === null && <BadLines list={list} />}
        </>
      )}
    </StepForm>
  )
}

/** Asks for the meaning of each column, above the first rows as the service gets them. */
function MappingInput({
  list,
  onMapping,
}: {
  readonly list: Listed
  readonly onMapping: (mapping: Mapping) => void
}) {
  const t = useTranslations('campaigns')
  const { table, mapping } = list
  const shown = table.rows.slice(0, SHOWN_ROWS)
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('columns')}
      </Title>
      {table.columns.map((column, index) => {
        const own = guessMapping({ columns: [column], rows: [] })[0] ?? ''
        const variable = own === '' || own === NUMBER ? `column_${index + 1}` : own
        const value = mapping[index] ?? ''
        const choices = [
          { value: '', label: t('leaveOut') },
          { value: NUMBER, label: t('isNumber') },
          { value: EXTERNAL_ID, label: t('isExternalId') },
          ...(variable === EXTERNAL_ID
            ? []
            : [{ value: variable, label: t('isVariable', { name: variable }) }]),
        ]
        const example = shown.map(({ cells }) => cells[index] ?? '').find((cell) => cell !== '') ?? ''
        return (
          <NativeSelect
            // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name, and a name may stand twice
            key={index}
            label={column === '' ? t('column', { number: index + 1 }) : column}
            description={example === '' ? '' : t('example', { value: example })}
            value={value}
            data={choices}
            onChange={({ currentTarget }) =>
              onMapping(
                table.columns.map((_, at) => (at === index ? currentTarget.value : (mapping[at] ?? ''))),
              )
            }
          />
        )
      })}
      <Title order={2} size="h4">
        {t('preview')}
      </Title>
      <Rows
        label={t('preview')}
        rows={shown}
        idOf={({ line }) => String(line)}
        columns={[
          { title: t('line'), align: 'right', cell: ({ line }) => line },
          ...mapping.flatMap((name, index) =>
            name === ''
              ? []
              : [
                  {
                    title: name === NUMBER ? t('isNumber') : name,
                    cell: ({ cells }: Table['rows'][number]) =>
                      name === NUMBER ? asE164(cells[index] ?? '') : (cells[index] ?? ''),
                  },
                ],
          ),
        ]}
      />
    </Stack>
  )
}

function BadLines({ list }: { readonly list: Listed }) {
  const t = useTranslations('campaigns')
  const bad = badRows(list.table, list.mapping)
  const good = list.table.rows.length - bad.length
  return (
    <RefusedRows
      title={t('willImport', { good, bad: bad.length })}
      rows={bad.map(({ line, value, reason }) => ({ line, e164: value, reason, message: '' }))}
    />
  )
}

function Finish(props: {
  readonly basics: BasicValues
  readonly list: Listed | null
  readonly rules: ReturnType<typeof useFields<Rules>>
  readonly back: () => void
  readonly done: () => void
}) {
  const t = useTranslations('campaigns')
  const { api, environment } = useSession()
  const { basics, list, rules, back, done } = props
  const { agents, numbers } = useCallers()
  /** Kept, so that a second try does not make a second campaign. */
  const [made, setMade] = useState<string | null>(null)
  const { weekdays, from, to } = rules.values
  const create = useAction(
    async (): Promise<{ readonly id: string; readonly imported: Result<'importRecipients'> | null }> => {
      const { schedule, ...others } = rulesBody(rules.values)
      const { windowStartMinute: _from, windowEndMinute: _to, ...days } = schedule
      // The service knows the usual hours of each purpose.
      const usual = from === USUAL.from && to === USUAL.to
      const settings = { ...others, schedule: usual ? days : schedule }
      const body = {
        name: basics.name,
        agentId: basics.agent || (agents[0]?.id ?? ''),
        numberId: basics.number || (numbers[0]?.id ?? ''),
        ...settings,
      }
      const id =
        made === null
          ? (await api.createCampaign({ body })).id
          : (await api.updateCampaign({ id: made, body })).id
      setMade(id)
      if (list === null) return { id, imported: null }
      const file = new Blob([mappedCsv(list.table, list.mapping)], { type: 'text/csv' })
      const imported = await api.importRecipients({ id, body: file, contentType: 'text/csv' })
      if (imported.imported > 0) await api.preflightCampaign({ id })
      return { id, imported }
    },
    done,
  )
  if (create.data !== undefined) {
    const { id, imported } = create.data
    return (
      <Stack maw={820}>
        {imported === null ? (
          <Alert role="status">{t('createdEmpty')}</Alert>
        ) : (
          <RefusedRows
            title={t('imported', { imported: imported.imported, rejected: imported.rejectedCount })}
            rows={imported.rejected.map(({ index, e164, reason, message }) => ({
              // The line of the file that was given: the service saw another one.
              line: list?.table.rows[index]?.line ?? index,
              e164,
              reason,
              message,
            }))}
          />
        )}
        <div>
          <Button component={Link} to={`/${environment}/campaigns/${id}`}>
            {t('toCampaign')}
          </Button>
        </div>
      </Stack>
    )
  }
  const badHours = to !== '00:00' && from >= to
  return (
    <StepForm
      next={() => create.mutate()}
      label={t('create')}
      loading={create.isPending}
      disabled={weekdays === 0 || badHours}
      back={back}
    >
      {create.error !== null && <Problem error={create.error} />}
      <Text size="sm">{t('rulesHint')}</Text>
      <RulesInput form={rules} />
      {(weekdays === 0 || badHours) && (
        <Alert color="red" role="alert">
          {weekdays === 0 ? t('noDay') : t('badHours')}
        </Alert>
      )}
    </StepForm>
  )
}
