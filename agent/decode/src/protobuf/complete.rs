//! From open rows to complete ones: what did not come becomes null, or what the schema has for it.
//!
//! A row that lacks a required field, or holds a time beyond its type, is completed all the same and leaves a flaw behind: it may
//! be part of something that a later value supersedes. The one invariant: completing a row adds exactly what each column of it lacks,
//! and clears every mark.

use super::node::{Absent, Content, FieldNode, MessageNode, Place, Preset, Single, Time, Value};
use super::read::defect;
use super::run::Run;
use crate::builders::{Column, ColumnBuilder, StructColumn};
use crate::report::MisfitReason;

const NANOS_PER_MICRO: i32 = 1000;
const MILLIS_PER_SECOND: i64 = 1000;
const MICROS_PER_MILLI: i64 = 1000;

type Outcome = Result<(), MisfitReason>;

impl MessageNode {
    /// Completes the open row of a column of such messages.
    pub(super) fn complete(&mut self, column: &mut Column, run: &mut Run) -> Outcome {
        match column {
            Column::Struct(column) => self.complete_row(column, run),
            _ => Err(defect()),
        }
    }

    /// Completes the open row.
    pub(super) fn complete_row(&mut self, column: &mut StructColumn, run: &mut Run) -> Outcome {
        for field in &mut self.fields {
            field.complete(column, run)?;
        }
        self.append_missing(column, run)?;
        column.complete_row_of(self.columns);
        self.oneofs.fill(None);
        self.open = false;
        run.flaw = self.flaw.take().or(run.flaw);
        Ok(())
    }

    /// Gives the open row what it has in columns that the writer does not know.
    pub(super) fn append_missing(&self, column: &mut StructColumn, run: &mut Run) -> Outcome {
        for missing in &self.missing {
            let child = column.child(missing.child).ok_or_else(defect)?;
            missing.absent.append(None, child, run)?;
        }
        Ok(())
    }

    /// Adds a row for a message without any field, which must not lack a required one either.
    fn append_empty(&mut self, column: &mut StructColumn, run: &mut Run) -> Outcome {
        run.take_cells(self.cells)?;
        self.complete_row(column, run)
    }
}

impl FieldNode {
    #[inline]
    fn complete(&mut self, parent: &mut StructColumn, run: &mut Run) -> Outcome {
        let column = match &mut self.place {
            Place::Child(index) => parent.child(*index).ok_or_else(defect)?,
            Place::Hidden(hidden) => &mut hidden.column,
        };
        match (&mut self.content, &mut *column) {
            (Content::Single(single), column) => {
                if self.required && !single.present {
                    run.flaw = Some(MisfitReason::MissingField);
                }
                single.complete(column, run)?;
            }
            (Content::List(_), Column::List(list)) => list.commit(),
            (Content::Map(_), Column::Map(map)) => map.commit(),
            (Content::List(_) | Content::Map(_), _) => return Err(defect()),
        }
        if let Place::Hidden(hidden) = &mut self.place {
            hidden.column.truncate(0);
        }
        Ok(())
    }
}

impl Single {
    /// Gives the open row its value and clears the marks.
    #[inline]
    pub(super) fn complete(&mut self, column: &mut Column, run: &mut Run) -> Outcome {
        let (present, stored) = (self.present, self.stored);
        (self.present, self.stored) = (false, false);
        match &mut self.value {
            Value::Message(node) if present => node.complete(column, run),
            Value::Time(time) if present => std::mem::take(time).append(column, run),
            _ if stored => Ok(()),
            value => self.absent.append(Some(value), column, run),
        }
    }
}

impl Time {
    /// Microseconds as Spark computes them: the milliseconds wrap around, what is made of them must fit.
    pub(super) fn append(self, column: &mut Column, run: &mut Run) -> Outcome {
        let millis = self.seconds.wrapping_mul(MILLIS_PER_SECOND);
        let Some(micros) = millis.checked_mul(MICROS_PER_MILLI) else {
            run.flaw = Some(MisfitReason::OutOfRange);
            column.append_null();
            return Ok(());
        };
        let micros = micros.wrapping_add(i64::from(self.nanos / NANOS_PER_MICRO));
        match column {
            Column::Timestamp(column) => column.append(micros),
            Column::BigInt(column) => column.append(micros),
            _ => return Err(defect()),
        }
        Ok(())
    }
}

impl Absent {
    /// Appends what is read where nothing came. `value` is the message type of an empty message.
    #[inline]
    pub(super) fn append(&self, value: Option<&mut Value>, column: &mut Column, run: &mut Run) -> Outcome {
        match (self, column) {
            (Self::Null, column) => column.append_null(),
            (Self::Preset(preset), column) => return preset.append(column, run),
            (Self::EmptyList, Column::List(list)) => list.commit(),
            (Self::EmptyMap, Column::Map(map)) => map.commit(),
            (Self::EmptyMessage, Column::Struct(column)) => match value {
                Some(Value::Message(node)) => return node.append_empty(column, run),
                _ => return Err(defect()),
            },
            _ => return Err(defect()),
        }
        Ok(())
    }
}

impl Preset {
    fn append(&self, column: &mut Column, run: &mut Run) -> Outcome {
        match (self, column) {
            (Self::Integer(value), Column::Int(column)) => column.append(i32::try_from(*value).map_err(|_| defect())?),
            (Self::Integer(value), Column::BigInt(column)) => column.append(i64::try_from(*value).map_err(|_| defect())?),
            (Self::Integer(value), Column::Timestamp(column)) => column.append(i64::try_from(*value).map_err(|_| defect())?),
            (Self::Integer(value), Column::Decimal { column, .. }) => column.append(*value),
            (Self::Double(value), Column::Float(column)) => column.append(*value as f32),
            (Self::Double(value), Column::Double(column)) => column.append(*value),
            (Self::Bool(value), Column::Boolean(column)) => column.append(*value),
            (Self::Bytes(value), Column::String(column) | Column::Binary(column)) => {
                run.make_up(value.len(), column)?;
                column.append(value);
            }
            _ => return Err(defect()),
        }
        Ok(())
    }
}
