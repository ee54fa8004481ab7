//! The package's error types. A message that does not fit is no error: it is a row of nulls and an entry in the report.

use stream_spec::schema::SchemaFormat;
use stream_spec::types::DataType;

/// Why a type cannot be decoded into.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CompileError {
    /// A writer's and a reader's schema in different languages.
    #[error("messages written by a schema in {writer} cannot be read by one in {reader}: use one language for both")]
    Formats {
        /// The language of the writer's schema.
        writer: SchemaFormat,
        /// The language of the reader's schema.
        reader: SchemaFormat,
    },
    /// A map whose keys are not strings.
    #[error("map keys of type `{key}` cannot be decoded: use STRING keys")]
    MapKey {
        /// The key type that was asked for.
        key: DataType,
    },
    /// A decimal outside 1 ≤ precision ≤ 38, scale ≤ precision.
    #[error("`DECIMAL({precision},{scale})` is out of range: precision is 1 to 38 and scale at most the precision")]
    Decimal {
        /// The precision that was asked for.
        precision: u8,
        /// The scale that was asked for.
        scale: u8,
    },
    /// More levels than the decoder goes down.
    #[error("the type is nested deeper than {max} levels: flatten it")]
    TooDeep {
        /// The number of levels that is allowed.
        max: usize,
    },
    /// A plan that would leave a gap before it.
    #[error("a plan cannot be put at {index}: there are {count}")]
    NoSuchPlace {
        /// Where it was to go.
        index: usize,
        /// How many plans there are.
        count: usize,
    },
    /// A Protobuf field whose bytes the reader's schema does not mean.
    #[error("field `{field}` (number {number}) is written as {writer} and read as {reader}: give a changed field a new number")]
    ProtobufField {
        /// The writer's name of the field, with those of the messages around it.
        field: String,
        /// Its number in the innermost message.
        number: u32,
        /// What the writer's schema says it is.
        writer: String,
        /// What the reader's schema says it is.
        reader: String,
    },
    /// A decoder without a plan.
    #[error("a decoder needs at least one plan")]
    NoPlan,
    /// More plans than a plan index can name.
    #[error("{count} plans are too many for one decoder: at most {max}")]
    TooManyPlans {
        /// How many were given.
        count: usize,
        /// How many are allowed.
        max: usize,
    },
    /// Plans of one decoder must produce the same column.
    #[error("plan {index} produces `{actual}` where the first plan produces `{expected}`: compile all plans for one reader type")]
    ReaderTypesDiffer {
        /// Which plan differs from the first.
        index: usize,
        /// The first plan's reader type.
        expected: DataType,
        /// This plan's reader type.
        actual: DataType,
    },
}

/// A call of the decoder that cannot be answered. Never caused by what a message holds.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The batch has more payload bytes than 32-bit offsets are safe for.
    #[error("a batch of {bytes} payload bytes is too large: decode at most {max} at once")]
    BatchTooLarge {
        /// Payload bytes of the batch.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// There must be one plan index per payload (or none at all).
    #[error("{plan_indexes} plan indexes were given for {payloads} payloads: give one each, or none")]
    PlanIndexCount {
        /// Plan indexes given.
        plan_indexes: usize,
        /// Payloads given.
        payloads: usize,
    },
    /// A plan index names no plan.
    #[error("row {row} asks for plan {plan_index} of {plans}")]
    NoSuchPlan {
        /// The row.
        row: usize,
        /// The index it gave.
        plan_index: u16,
        /// Plans of this decoder.
        plans: usize,
    },
    /// Columns did not fit together: a defect of this package.
    #[error("decoded columns do not fit together; this is a defect of the decoder")]
    Columns(#[from] arrow_schema::ArrowError),
}
