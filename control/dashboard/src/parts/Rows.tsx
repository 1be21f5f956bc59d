import { memo, type ReactNode } from 'react'

export interface Column<T> {
  readonly title: string
  readonly align?: 'right'
  cell(row: T): ReactNode
}

/**
 * A table that scrolls sideways by itself on narrow screens, so that the page does not. With the same `columns` as before it draws
 * only the rows that are other objects: a long list that changes while it is read keeps its columns.
 */
export function Rows<T>(props: {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly idOf: (row: T) => string
}) {
  const { label, rows, columns, idOf } = props
  return (
    // Keyboard users scroll the region (WCAG 2.2, 2.1.1).
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs the focus
    <section className="wide card" aria-label={label} tabIndex={0}>
      <table className="rows">
        <thead>
          <tr>
            {columns.map(({ title, align }) => (
              <th key={title} className={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={idOf(row)} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function DrawnRow<T>({ row, columns }: { readonly row: T; readonly columns: readonly Column<T>[] }) {
  return (
    <tr>
      {columns.map(({ title, align, cell }) => (
        <td key={title} className={align}>
          {cell(row)}
        </td>
      ))}
    </tr>
  )
}

const Row = memo(DrawnRow) as typeof DrawnRow

/** Names and values, a line each. */
export function Facts(props: {
  /** The key is needed for names that are not texts. */
  readonly facts: readonly (readonly [name: ReactNode, value: ReactNode, key?: string])[]
}) {
  return (
    <table className="rows facts">
      <tbody>
        {props.facts.map(([name, value, key]) => (
          <tr key={key ?? String(name)}>
            <th scope="row">{name}</th>
            <td className="right">{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
